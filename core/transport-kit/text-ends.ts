/**
 * A text without so many of one character at its end. An expression such as `/_+$/` would take the square of the length of
 * a text that holds many of them elsewhere.
 */
export function withoutEnd(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end -= 1
  return end === text.length ? text : text.slice(0, end)
}
