/** At most this number of characters (code points), with a mark where text was cut. */
export function cutCharacters(text: string, most: number): string {
  // A text has at least as many code units as code points.
  if (text.length <= most) return text
  const characters = [...text]
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`
}
