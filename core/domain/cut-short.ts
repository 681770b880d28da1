/**
 * Truncates foreign text for a message to `most` UTF-16 code units, with `…` where it was cut. The mark lets redaction
 * recognise the beginning of a cut secret.
 */
export function cutShort(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}
