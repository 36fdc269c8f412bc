/**
 * Agreement of clusters with labels. Purity: share of the clustered memories whose topic is the most frequent one of
 * their cluster. NMI: mutual information over the mean entropy, with all memories left out by the map as one more
 * cluster. Outliers count in neither.
 */
export interface Agreement {
  readonly purity: number
  readonly nmi: number
  readonly clusters: number
  /** Share of the memories with a topic that are in no cluster. */
  readonly leftOut: number
  /** Share of the outliers that are in no cluster. */
  readonly outliersFound: number
}

export const agreement = (
  clusterOf: ReadonlyArray<number | null>,
  topicOf: ReadonlyArray<string | undefined>
): Agreement => {
  const labelled = clusterOf.flatMap((cluster, at) => {
    const topic = topicOf[at]
    return topic === undefined ? [] : [{ cluster, topic }]
  })
  const clustered = labelled.filter(({ cluster }) => cluster !== null)
  const byCluster = Map.groupBy(clustered, ({ cluster }) => cluster)
  const pure = [...byCluster.values()].map((members) => Math.max(...sizes(members.map(({ topic }) => topic))))
  const outliers = clusterOf.filter((_, at) => topicOf[at] === undefined)
  const clusterEntropy = entropy(labelled.map(({ cluster }) => String(cluster)))
  const topicEntropy = entropy(labelled.map(({ topic }) => topic))
  const jointEntropy = entropy(labelled.map(({ cluster, topic }) => `${cluster} ${topic}`))
  return {
    purity: clustered.length === 0 ? 0 : pure.reduce((sum, count) => sum + count, 0) / clustered.length,
    nmi: (2 * (clusterEntropy + topicEntropy - jointEntropy)) / (clusterEntropy + topicEntropy),
    clusters: byCluster.size,
    leftOut: 1 - clustered.length / labelled.length,
    outliersFound: outliers.filter((cluster) => cluster === null).length / Math.max(1, outliers.length)
  }
}

const sizes = (values: ReadonlyArray<string>): ReadonlyArray<number> =>
  [...Map.groupBy(values, (value) => value).values()].map(({ length }) => length)

const entropy = (values: ReadonlyArray<string>): number =>
  sizes(values).reduce((sum, count) => sum - (count / values.length) * Math.log(count / values.length), 0)
