/** Counts the words of a text, in a thread of its own. */
export default function countWords(text: string): number {
  if (text === 'for ever') for (;;);
  if (text === '') throw new Error('there is no text')
  return text.trim().split(/\s+/).length
}
