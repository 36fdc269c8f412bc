/** One of a few choices, side by side. */
export const Segments = <A extends string>(given: {
  readonly label: string
  readonly value: A
  readonly options: ReadonlyArray<readonly [A, string]>
  readonly onValue: (value: A) => void
}) => (
  <fieldset class="segments">
    <legend class="hidden">{given.label}</legend>
    {given.options.map(([value, title]) => (
      <label key={value}>
        <input type="radio" name={given.label} checked={value === given.value} onChange={() => given.onValue(value)} />
        <span>{title}</span>
      </label>
    ))}
  </fieldset>
)
