/** Bits of guessing work for each step of the scale. */
const STEPS = [28, 40, 56, 72] as const

/**
 * A rough strength from 0 (very weak) to 4 (strong): the size of the alphabet times the characters that do not repeat or
 * continue the one before. The hub itself rejects passwords that are too short or too common.
 */
export function strengthOf(password: string): number {
  const classes = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z\d]/].filter(one => one.test(password)).length
  const alphabet = [0, 26, 52, 62, 95][classes] ?? 26
  let counted = 0
  for (let at = 0; at < password.length; at += 1) {
    const step = at === 0 ? 9 : password.charCodeAt(at) - password.charCodeAt(at - 1)
    counted += Math.abs(step) <= 1 ? 0.25 : 1
  }
  const bits = counted * Math.log2(Math.max(2, Math.min(alphabet, new Set(password).size * 4)))
  return STEPS.filter(step => bits >= step).length
}
