/**
 * Removes one character from the end of a text as often as it occurs there. An expression such as `/_+$/` takes
 * quadratic time on a text that holds many of them elsewhere.
 */
export function withoutEnd(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end -= 1
  return end === text.length ? text : text.slice(0, end)
}
