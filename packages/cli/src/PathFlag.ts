/** Flags and arguments that name a file or a folder: an empty name, as an unset variable of a shell leaves it, is refused. */
import { Argument, Flag } from "effect/cli"

const isNamed = (path: string): boolean => path !== ""
const expected = (): string => "a name that is not empty"

export const pathFlag = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.filter(isNamed, expected))

export const pathArgument = (name: string, description: string) =>
  Argument.String(name).pipe(Argument.withDescription(description), Argument.filter(isNamed, expected))
