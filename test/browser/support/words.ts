import type { Request } from 'playwright-core'
import { until } from '../../support/wait.ts'
import type { ConsoleTab } from './console.ts'

/**
 * Texts that stay as they are in Chinese: names that people or servers gave, names of products, protocols, formats and
 * levels, values of the configuration, units, and texts of servers. Not checked are code, names of records (`nm`), templates
 * of the market, which bring their own texts, and text marked as English or as not to be translated. A text is allowed as a
 * whole.
 */
const ALLOWED: readonly RegExp[] = [
  // Names of the test, and of the hub itself.
  /^(?:echo|everything|gone|halted|lost|own|team|home|wanting|kitchen|admin|k1|r1|whoami|env|text|name|Hub|patchbay|Patchbay|echo \d.*)$/,
  /^admin~\w+$/,
  // Descriptions that the server gives its tools.
  /^(?:Gives the text back|Says which of several servers this is|Gives one environment variable)$/,
  // Publishers of the market's templates.
  /^(?:domdomegg|bundled)$/,
  // Plugins and sinks, and identifiers of records.
  /^(?:hosted-keys|syslog)$/,
  /^[0-9a-f]{8}-[0-9a-f-]{27}$/,
  // Products, protocols, formats.
  /^(?:English|JSON|CSV|OpenMetrics|OpenAPI(?: 3\.1)?|Grafana|MCP|HTTP|SSE|stdio|stderr|curl|URL|AI|ModelScope|Airtable|Telegram|[Ww]ebhook)$/,
  /^(?:ERROR|WARN|INFO|DEBUG|TRACE)$/,
  /^(?:Claude|Cursor|VS Code|Windsurf|Codex|Gemini|Zed|LM Studio|Bun\/)[\w .]*$/,
  // Units, addresses, paths, identifiers and variables.
  /^(?:ms|[\d.,]+ ?(?:ms|s|[kKMGT]i?B).*|pid \d+)$/,
  /^(?:https?|wss?):\/\//,
  /^\/mcp\/\S+$/,
  /^[\w.-]+\.(?:com|org|ai|io|test)(?:\/\S*)?$/,
  /^[A-Z][A-Z0-9_]+$/,
  /^[a-zA-Z]+\/[\w-]+(?:, [a-zA-Z]+\/[\w-]+)*(?:,.*)?$/,
  // Placeholders that show the form of pasted text.
  /^\{ "mcpServers"/,
]

/** Texts and labels on the page without Chinese, each with its place. */
function latinOf(tab: ConsoleTab): Promise<readonly string[]> {
  return tab.page.evaluate(() => {
    const SKIPPED =
      'code, pre, .mono, .nm, kbd, textarea, [translate="no"], [lang="en"], .mcard, .mname, .mfoot, script, style, noscript'
    const found = new Set<string>()
    const note = (text: string | null, at: Element, attribute = ''): void => {
      const words = (text ?? '').replace(/\s+/g, ' ').trim()
      if (!/[A-Za-z]{2}/.test(words) || /[\u3400-\u9fff]/.test(words)) return
      found.add(
        `${words.slice(0, 160)}\t${at.parentElement?.className ?? ''} > ${at.localName}.${at.className}${attribute}`,
      )
    }
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const holder = node.parentElement
      if (holder && !holder.closest(SKIPPED)) note(node.textContent, holder)
    }
    for (const one of document.querySelectorAll('body *'))
      for (const name of ['aria-label', 'placeholder', 'title', 'alt', 'data-l'])
        if (one.hasAttribute(name) && !one.closest(SKIPPED)) note(one.getAttribute(name), one, `@${name}`)
    return [...found]
  })
}

/** Requests of the page without an answer yet, except the stream that stays open. Call this before the tab goes to a page. */
export function questionsOf({ page }: ConsoleTab): ReadonlySet<Request> {
  const asked = new Set<Request>()
  page.on('request', request => {
    if (!request.url().includes('/api/stream')) asked.add(request)
  })
  page.on('requestfinished', request => asked.delete(request))
  page.on('requestfailed', request => asked.delete(request))
  page.on('framenavigated', () => asked.clear())
  return asked
}

/** Waits until received data is drawn and the requests that follow from it are sent. */
function drawn({ page }: ConsoleTab): Promise<boolean> {
  return page.evaluate(async () => {
    for (let picture = 0; picture < 3; picture += 1) await new Promise(requestAnimationFrame)
    return true
  })
}

/** Waits until the page has got all that it asked for, and has drawn it. */
export async function quiet(tab: ConsoleTab, asked: ReadonlySet<Request>): Promise<void> {
  await until(async () => asked.size === 0 && (await drawn(tab)) && asked.size === 0, {
    what: `all of ${tab.page.url()}`,
    intervalMs: 50,
  })
}

/** English texts of the Chinese console that must be Chinese, each with its place. */
export async function englishOf(tab: ConsoleTab): Promise<readonly string[]> {
  const { pathname, search } = new URL(tab.page.url())
  const lines = (await latinOf(tab)).map(line => line.split('\t'))
  return lines
    .filter(([text = '']) => !ALLOWED.some(pattern => pattern.test(text)))
    .map(([text, where]) => `${text}   at ${pathname}${search} ${where}`)
}
