/** The first and the last day of a period, as the address has them. */
import { change, parameters } from "../service/route.ts"
import { Field } from "./Field.tsx"

export const givenPeriod = () => ({
  from: parameters.value.get("from") ?? undefined,
  to: parameters.value.get("to") ?? undefined
})

export const PeriodFields = () => {
  const { from, to } = givenPeriod()
  return (
    <>
      <Field label="From" type="date" value={from ?? ""} onValue={(day) => change({ from: day })} />
      <Field label="To" type="date" value={to ?? ""} onValue={(day) => change({ to: day })} />
    </>
  )
}
