import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, Request } from 'playwright-core'
import { titles } from '../../ui/locales/zh/problems/titles.ts'
import type { Client } from '../support/client.ts'
import { type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { type ConsoleTab, openBrowser, openTab } from './support/console.ts'

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      mcpServers: { echo: stdioFixture('echo'), gone: { command: 'no-such-program-of-a-test' } },
      // Nobody listens there: a sink that is down.
      plugins: [{ use: 'sink-syslog', config: { host: '127.0.0.1', port: 1, protocol: 'tcp' } }],
    },
  })
  admin = await hub.setup()
  await online(admin, ['echo'])
  await admin.ok('POST', '/api/servers', { name: 'lost', ...stdioFixture('echo') })
  await admin.ok('POST', '/api/servers', { name: 'own', ...stdioFixture('echo') })
  await admin.ok('POST', '/api/groups', { name: 'team', members: ['echo', 'gone', 'lost'] })
  await admin.ok('DELETE', '/api/servers/lost')
  await admin.ok('POST', '/api/keys', { label: 'k1', scopes: ['mcp'] })
  await admin.ok('POST', '/api/monitoring/rules', {
    ...{ name: 'r1', condition: 'server_status == offline', duration: '1m', severity: 'critical' },
  })
  await admin.ok('POST', '/api/servers/echo/tools/echo/call', { arguments: { text: '1' } })
}, 60_000)

afterAll(async () => {
  await browser?.close()
  await hub?.stop()
})

/** Places, with layers open, and what is there when they are drawn. */
const PLACES: readonly (readonly [string, string])[] = [
  ['/', '.tile, .card'],
  ['/?tab=system-overview', '.wmetric .stat'],
  ['/?tab=server-status', '.wtable td'],
  ['/?tab=request-analysis', '.wtable td'],
  ['/?tab=error-tracking', '.wtable'],
  ['/?tab=user-activity', '.wtable td'],
  ['/servers', 'td .nm'],
  ['/servers/new', '#pasted'],
  ['/servers/admin~echo', '.minis'],
  ['/servers/admin~gone', '.callout.bad'],
  ['/servers/admin~echo?tab=tools&tool=echo', 'pb-try-tool'],
  ['/servers/admin~echo?tab=logs', '.loglist'],
  ['/servers/admin~echo?tab=metrics', 'pb-server-metrics h2'],
  ['/servers/admin~own?tab=settings', 'pb-schema-form .field'],
  ['/servers/admin~echo?tab=access', 'pb-server-access .card'],
  ['/groups', 'td, .card'],
  ['/groups?view=bay', '.bayfault, pb-patch-bay svg'],
  ['/groups/admin~team', '.wrapx'],
  ['/market?drawer=sources', 'wa-drawer .list li'],
  ['/market/bundled:airtable', '#install-name'],
  ['/logs', 'h1'],
  ['/monitoring', '.card'],
  ['/alerts', '.card, .empty'],
  ['/alerts?tab=rules', 'h1'],
  ['/alerts?tab=channels', 'h1'],
  ['/alerts/channels/new', '#cfg-url'],
  ['/alerts/rules/new', 'h1'],
  ['/alerts?tab=silences', 'h1'],
  ['/assistant', '.card, .empty'],
  ['/keys', '.nm'],
  ['/settings', '#current'],
  ['/settings/hosted-keys', '.list li'],
  ['/settings/appearance', '#theme'],
  ['/settings/limits', 'td code'],
  ['/settings/hub', '.setrow'],
  ['/settings/logs', 'td .nm'],
  ['/admin/users?drawer=new', '#new-name'],
  ['/admin/plugins?plugin=hosted-keys', 'wa-drawer h2'],
  ['/admin/audit', 'td code'],
  ['/reference', '.apilist details'],
  ['/no/such/page', '.empty'],
]

/**
 * What stays as it is in Chinese: names that people or servers gave, names of products, protocols, formats and levels, values
 * of the configuration, units, and what servers say. Code, names of records (`nm`), templates of the market, which bring their
 * own texts, and what is marked as English or as not to be translated are not looked at. A text is allowed as a whole.
 */
const ALLOWED: readonly RegExp[] = [
  // Names of the test, and of the hub itself.
  /^(?:echo|gone|lost|own|team|admin|k1|r1|whoami|env|text|name|Hub|patchbay|Patchbay|echo \d.*)$/,
  /^admin~\w+$/,
  // What the server says of its tools.
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
  /^(?:ms|[\d.,]+ ?(?:ms|s|[KMGT]i?B).*|pid \d+)$/,
  /^(?:https?|wss?):\/\//,
  /^\/mcp\/\S+$/,
  /^[\w.-]+\.(?:com|org|ai|io|test)(?:\/\S*)?$/,
  /^[A-Z][A-Z0-9_]+$/,
  /^[a-zA-Z]+\/[\w-]+(?:, [a-zA-Z]+\/[\w-]+)*(?:,.*)?$/,
  // Placeholders that show the form of what is pasted.
  /^\{ "mcpServers"/,
]

/** Texts and labels on the page that hold no Chinese, each with where it stands. */
function englishOf(tab: ConsoleTab): Promise<readonly string[]> {
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

/** What the page has asked and not heard yet, but for the stream that stays open. */
function questionsOf({ page }: ConsoleTab): ReadonlySet<Request> {
  const asked = new Set<Request>()
  page.on('request', request => {
    if (!request.url().includes('/api/stream')) asked.add(request)
  })
  page.on('requestfinished', request => asked.delete(request))
  page.on('requestfailed', request => asked.delete(request))
  page.on('framenavigated', () => asked.clear())
  return asked
}

/** What has come is drawn, and has asked what it asks next. */
function drawn({ page }: ConsoleTab): Promise<boolean> {
  return page.evaluate(async () => {
    for (let picture = 0; picture < 3; picture += 1) await new Promise(requestAnimationFrame)
    return true
  })
}

test('no text of the Chinese console is English, on any page, but what is no text of the console', async () => {
  const tab = await openTab(browser, hub, admin, { language: 'zh' })
  const found = new Map<string, string>()
  const asked = questionsOf(tab)
  for (const [place, ready] of PLACES) {
    await tab.page.goto(`${hub.url}${place}`)
    await tab.page
      .waitForSelector(ready, { timeout: atMost(5_000) })
      .catch(() => found.set(`${place} has no ${ready}`, ''))
    await until(async () => asked.size === 0 && (await drawn(tab)) && asked.size === 0, { what: `all of ${place}` })
    for (const line of await englishOf(tab)) {
      const [text = '', where] = line.split('\t')
      if (!ALLOWED.some(pattern => pattern.test(text))) found.set(text, `${place} ${where}`)
    }
  }
  await tab.close()
  expect([...found].map(([text, where]) => `${text}   at ${where}`)).toEqual([])
}, 300_000)

test('failures of sinks, deliveries and tests of keys are said in Chinese', async () => {
  await admin.ok('POST', '/api/monitoring/channels', {
    ...{ name: 'own', type: 'webhook', config: { url: 'http://127.0.0.1:1/' } },
  })
  const { code } = await admin.ok('POST', '/api/monitoring/channels/own/test')
  await admin.ok('PATCH', '/api/settings', { hostedKeys: { modelscope: 'a-key-of-this-test' } })
  const sinks = async () => (await admin.ok('GET', '/api/admin/logging')).sinks
  const down = await until(async () => (await sinks()).find(({ reason }: { reason?: object }) => reason), {
    what: 'a sink that is down',
  })
  const failures: readonly (readonly [string, string, string])[] = [
    ['/', '.attn-first', '日志接收端异常'],
    ['/settings/logs', 'td .cellsub.st-bad', titleOf(down.reason.code)],
    ['/alerts?tab=channels', '.bad-t', titleOf(code)],
    ['/alerts/channels/own', '.tx .t2', titleOf(code)],
  ]
  const tab = await openTab(browser, hub, admin, { language: 'zh' })
  const found: string[] = []
  const judge = async (place: string, at: string, says: string): Promise<void> => {
    const has = async (): Promise<boolean> => (await tab.page.locator(at).allTextContents()).join().includes(says)
    await until(has, { timeoutMs: 10_000 }).catch(() => found.push(`${place} has no ${says}`))
    for (const line of await englishOf(tab)) {
      const [english = '', where] = line.split('\t')
      if (!ALLOWED.some(pattern => pattern.test(english))) found.push(`${english}   at ${place} ${where}`)
    }
  }
  for (const [place, at, says] of failures) {
    await tab.page.goto(`${hub.url}${place}`)
    await judge(place, at, says)
  }
  await tab.page.goto(`${hub.url}/settings/hosted-keys`)
  await tab.page.locator('.list button', { hasText: '测试' }).first().click()
  await judge('/settings/hosted-keys', 'body', '的服务器都不会使用此密钥')
  await tab.close()
  expect(found).toEqual([])
}, 300_000)

/** As much of a Chinese title as stands before the first value in it. */
function titleOf(code: string): string {
  const [start = ''] = (titles[code as keyof typeof titles] ?? code).split(/[{[]/)
  return start
}

/** Places that cannot be shown, and the code of the reason. */
const REFUSALS: readonly (readonly [string, keyof typeof titles])[] = [
  ['/servers/admin~lost', 'server_not_found'],
  ['/groups/admin~own', 'group_not_found'],
  ['/market/bundled:lost', 'template_not_found'],
  ['/alerts/rules/lost', 'rule_not_found'],
  ['/alerts/channels/lost', 'channel_not_found'],
]

/** What a person did wrong, where the error is shown, and what it says. */
const MISTAKES: readonly {
  readonly place: string
  readonly act: (tab: ConsoleTab) => Promise<unknown>
  readonly at: string
  readonly says: string
}[] = [
  {
    place: '/groups/new',
    act: async ({ page }) => {
      await page.fill('#g-name', 'team')
      await page.click('.acts .btn.pri')
    },
    at: '#g-name-h.bad',
    says: '重复或已被使用（',
  },
  {
    place: '/settings',
    act: async ({ page }) => {
      await page.fill('#current', 'not the password of anybody')
      await page.fill('#next', 'another long pass phrase 7')
      await page.click('form:has(#current) .btn.pri')
    },
    at: '.callout.bad',
    says: titles.password_mismatch,
  },
  {
    place: '/alerts/rules/new',
    act: ({ page }) => page.fill('#rule-expression', 'no_such_metric > 1'),
    at: '#rule-reading.bad',
    says: '条件无法读取（',
  },
]

test('errors are said in Chinese, with the hub’s own sentence marked as English', async () => {
  const tab = await openTab(browser, hub, admin, { language: 'zh' })
  const found: string[] = []
  const judge = async (place: string, at: string, says: string): Promise<void> => {
    const shown = await tab.page.waitForSelector(at)
    const text = (await shown.textContent()) ?? ''
    if (!text.includes(says)) found.push(`${place} has no ${says}: ${text}`)
    for (const line of await englishOf(tab)) {
      const [english = '', where] = line.split('\t')
      if (!ALLOWED.some(pattern => pattern.test(english))) found.push(`${english}   at ${place} ${where}`)
    }
  }
  for (const [place, code] of REFUSALS) {
    await tab.page.goto(`${hub.url}${place}`)
    await judge(place, '.callout.bad, .empty', titles[code])
  }
  for (const { place, act, at, says } of MISTAKES) {
    await tab.page.goto(`${hub.url}${place}`)
    await act(tab)
    await judge(place, at, says)
  }
  await tab.close()
  expect(found).toEqual([])
}, 300_000)
