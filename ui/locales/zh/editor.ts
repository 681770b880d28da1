/** Chinese texts of the JSON view and editor, by their English. */
export const editor: Readonly<Record<string, string>> = {
  'First {n} line': '前 {n} 行',
  'First {n} lines': '前 {n} 行',
  'Show more': '显示更多',
  'Show all as plain text': '以纯文本显示全部',
  'This value is nested too deeply to be shown.': '此值嵌套过深，无法显示。',
  'Line {line}, column {column}: {message}': '第 {line} 行第 {column} 列：{message}',
}
