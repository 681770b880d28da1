/** True when the text has the form of the pattern, in which `*` is any text. Takes time in proportion to both lengths. */
export function fitsGlob(pattern: string, text: string): boolean {
  let at = 0
  let part = 0
  let star = -1
  let resumed = 0
  while (at < text.length) {
    if (pattern[part] === '*') {
      star = part
      part += 1
      resumed = at
    } else if (part < pattern.length && pattern[part] === text[at]) {
      part += 1
      at += 1
    } else if (star >= 0) {
      part = star + 1
      resumed += 1
      at = resumed
    } else return false
  }
  while (pattern[part] === '*') part += 1
  return part === pattern.length
}
