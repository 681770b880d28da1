/**
 * Escapes texts for each chat service: names of servers and tools come from other people, and must neither mention a user nor
 * become a link. If a service documents no escape, the character that begins the markup is replaced by its full-width form,
 * which looks alike and has no meaning.
 */

/** `<` that begins a tag: `<at user_id="all">`, `<@all>`, `<font …>`. */
const TAG = /<(?=[/!@a-z])/gi
const LINK = /\]\(/g
const FULL_WIDTH_LESS = '＜'
const FULL_WIDTH_AT = '＠'

/** Without tags. */
export function tagless(text: string): string {
  return text.replaceAll(TAG, FULL_WIDTH_LESS)
}

/** Feishu and Lark, text messages: tags and `[text](address)` are read in them. */
export function feishuText(text: string): string {
  return tagless(text).replaceAll(LINK, '] (')
}

/** Markdown of DingTalk and WeCom, one line: they interpret tags and `@` separately; a backslash escapes the other characters. */
export function markdownText(line: string): string {
  return tagless(line)
    .replaceAll('@', FULL_WIDTH_AT)
    .replaceAll(/[\\`*_{}[\]()#+!|<>~-]/g, '\\$&')
}

/** Slack, and services that accept its form and also interpret `@all` and `[text](address)`. */
export function slackText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(LINK, '] (')
    .replaceAll(/@(?=all|channel|everyone|here)/gi, FULL_WIDTH_AT)
}

/** Discord, one line: Markdown, masked links, mentions, timestamps, and what makes a heading or a list of a line. */
export function discordText(line: string): string {
  return line
    .replaceAll(/[\\`*_~|<>@]/g, '\\$&')
    .replaceAll(LINK, ']\\(')
    .replace(/^(\s*)([-+#])/, '$1\\$2')
}

/** Telegram, without `parse_mode`: an `@name` would still call its bearer. */
export function telegramText(text: string): string {
  return text.replaceAll('@', FULL_WIDTH_AT)
}
