import { domainFinder } from '../find/domains.ts'
import { patternFinder } from '../find/patterns.ts'
import { personalFinder } from '../find/personal.ts'
import { joinedKinds, kindsAcrossLines, secretFinder } from '../find/secrets.ts'
import type { Finder } from '../find/types.ts'

/** The content that a rule looks for; at least one member. */
export interface Match {
  /** True: all kinds. */
  readonly secrets?: true | readonly string[] | undefined
  readonly personal?: true | readonly string[] | undefined
  readonly pattern?: readonly string[] | undefined
  /** Addresses of other hosts than these. */
  readonly domains?: readonly string[] | undefined
}

export type Then = 'observe' | 'mask' | 'refuse'

/** A rule as it crosses to the thread. `place`: whose rule it is. */
export interface CheckedRule {
  readonly place: string
  readonly id: string
  readonly match: Match
  readonly then: Then
}

/** A rule with its finders, by where they may look. */
export interface Compiled {
  readonly then: Then
  /** In names of members, and in values that belong to MCP itself, such as `type`. */
  readonly anywhere: readonly Finder[]
  /** The same for a text whose line breaks within words were taken out. */
  readonly acrossLines: readonly Finder[]
  /** In a text that was made of several ones. */
  readonly joined: readonly Finder[]
  /** In numbers, and in names. */
  readonly numbers: readonly Finder[]
  readonly values: readonly Finder[]
}

/** The finders of a rule. */
export function compile({ id, match, then }: Pick<CheckedRule, 'id' | 'match' | 'then'>): Compiled {
  const { secrets, personal, pattern, domains } = match
  const kinds = (given: true | readonly string[]) => (given === true ? undefined : given)
  const anywhere = secrets === undefined ? [] : [secretFinder(kinds(secrets))]
  const acrossLines = secrets === undefined ? [] : [secretFinder(kindsAcrossLines(kinds(secrets)))]
  const joined = secrets === undefined ? [] : [secretFinder(joinedKinds(kinds(secrets)))]
  const numbers = personal === undefined ? [] : [personalFinder(kinds(personal))]
  const rest = [
    ...(pattern === undefined ? [] : [patternFinder(pattern, id)]),
    ...(domains === undefined ? [] : [domainFinder(domains, id)]),
  ]
  return { then, anywhere, acrossLines, joined, numbers, values: [...anywhere, ...numbers, ...rest] }
}
