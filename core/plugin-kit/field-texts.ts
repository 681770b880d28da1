/** Title and description of a field of a plugin's settings, in English and in Chinese, for `meta` of its schema. */
export function fieldTexts(title: string, description: string, zhTitle: string, zhDescription: string) {
  return { title, description, 'x-zh': { title: zhTitle, description: zhDescription } }
}
