/** Used part of a limit, as a bar; without a limit as a number alone. */
export const Meter = (given: {
  readonly name: string
  readonly used: number
  readonly limit: number | null
  readonly text: (value: number) => string
}) => {
  const { limit, used } = given
  const share = limit === null ? 0 : limit === 0 ? 1 : Math.min(1, used / limit)
  return (
    <div class="meter">
      <span>{given.name}</span>
      <span class="number">
        {given.text(used)} {limit === null ? <span class="muted">no limit</span> : `of ${given.text(limit)}`}
      </span>
      {limit !== null && (
        <div class="bar" aria-hidden="true">
          <i class={share > 0.9 ? "tight" : ""} style={{ width: `${share * 100}%` }} />
        </div>
      )}
    </div>
  )
}
