import { type Checked, check } from './check/check.ts'
import { type CheckedRule, compile } from './check/compile.ts'

/** A long text and the rules that look at it. */
export interface CheckRequest {
  readonly rules: readonly CheckedRule[]
  readonly text: string | readonly Uint8Array[]
}

/** Checks one text; runs in a thread of its own. */
export default function answer({ rules, text }: CheckRequest): Checked {
  const whole = typeof text === 'string' ? text : Buffer.concat(text).toString()
  return check(whole, rules.map(compile))
}
