/** A character that can be seen: no white space, control, invisible or unassigned character. */
const VISIBLE = /[^\s\p{C}\p{Z}\u115F\u1160\u2800\u3164\uFFA0]/u

/** True for a text without visible characters, which is not a key, name or address. */
export function isBlank(text: string): boolean {
  return !VISIBLE.test(text)
}
