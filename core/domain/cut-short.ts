/**
 * What somebody else wrote, for a message: at most `most` UTF-16 code units, with `…` where it was cut. By that mark redaction
 * knows the beginning of a secret whose end was cut off.
 */
export function cutShort(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}
