/** Every page of the console in its states: without violations, sideways scrolling, errors, and English among the Chinese. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { words } from '../../plugins/market/words.zh.ts'
import { titles } from '../../ui/locales/zh/problems/titles.ts'
import type { Client } from '../support/client.ts'
import { type Hub, LOOPBACK, PASSWORD, ROOT, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { axe, type ConsoleTab, openBrowser, openTab, sharedOut, VIEWS } from './support/console.ts'
import { PLACES } from './support/places.ts'
import { englishOf, questionsOf, quiet } from './support/words.ts'

const EVERYTHING = `${ROOT}/node_modules/@modelcontextprotocol/server-everything/dist/index.js`
/** A name without a place to break in a narrow page. */
const LONG = 'x'.repeat(120)

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  const endpoint = {
    name: 'kitchen',
    direction: 'outbound',
    group: 'home',
    url: 'wss://127.0.0.9/mcp/?token=canary-4471',
  }
  hub = await startHub({
    env: { ...LOOPBACK, ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: crypto.randomUUID() },
    settings: {
      mcpServers: {
        echo: stdioFixture('echo'),
        everything: { command: 'node', args: [EVERYTHING] },
        gone: { command: `no-such-program-${LONG}` },
        halted: { ...stdioFixture('echo'), enabled: false },
      },
      groups: [{ name: 'home', servers: ['echo'] }],
      // An address where nothing listens: the sink is down.
      plugins: [{ use: 'sink-syslog', config: { host: '127.0.0.1', port: 1, protocol: 'tcp' } }],
      assistant: { endpoints: [endpoint] },
    },
  })
  admin = await hub.setup()
  await online(admin, ['echo', 'everything'])
  await admin.ok('POST', '/api/servers', { name: 'lost', ...stdioFixture('echo') })
  await admin.ok('POST', '/api/servers', { name: 'own', ...stdioFixture('echo') })
  await admin.ok('POST', '/api/groups', { name: 'team', members: ['echo', 'gone', 'lost'] })
  await admin.ok('DELETE', '/api/servers/lost')
  // Warns with a text of many names.
  const tools = ['a', 'b', 'c'].map(letter => letter.repeat(60))
  await admin.ok('POST', '/api/groups', { name: 'wanting', members: [{ server: 'echo', tools }] })
  // A second sign-in, which can be ended.
  await admin.ok('POST', '/api/auth/login', { username: 'admin', password: PASSWORD })
  await admin.ok('POST', '/api/keys', { label: 'k1', scopes: ['mcp'] })
  await admin.ok('POST', '/api/monitoring/rules', {
    ...{ name: 'r1', condition: 'server_status == offline', duration: '10s', severity: 'critical' },
  })
  await admin.ok('POST', '/api/monitoring/channels', {
    ...{ name: 'own', type: 'webhook', config: { url: 'http://127.0.0.1:1/' } },
  })
  await admin.ok('POST', '/api/servers/echo/tools/echo/call', { arguments: { text: '1' } })
  await until(async () => (await admin.ok('GET', '/api/monitoring/overview')).alerts.firing > 0, {
    timeoutMs: 60_000,
    what: 'the alert to fire',
  })
}, 180_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

test.each(VIEWS)(
  'no violation that axe finds, nothing sideways, no error, no English among the Chinese: %s',
  async (_, view) => {
    const isChinese = view.language === 'zh'
    const dealt = new Set(
      sharedOut(
        PLACES.filter(({ only }) => only !== 'words'),
        view,
      ),
    )
    const places = PLACES.filter(place => dealt.has(place) || (isChinese && place.only !== 'axe'))
    const tab = await openTab(browser, hub, admin, view)
    const asked = questionsOf(tab)
    const found = new Set<string>()
    for (const place of places) {
      await tab.go(place.path, place.sign).catch(error => found.add(`${place.path}: ${error}`))
      await quiet(tab, asked)
      if (isChinese && place.only !== 'axe') for (const line of await englishOf(tab)) found.add(line)
      if (!dealt.has(place)) continue
      for (const violation of await axe(tab)) found.add(`${place.path}: ${violation}`)
      await tab.fitsSideways('asPhone').catch(error => found.add(String(error)))
    }
    await tab.close()
    expect([...found]).toEqual([])
  },
  600_000,
)

test('failures of sinks, deliveries and tests of keys are said in Chinese', async () => {
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
    found.push(...(await englishOf(tab)))
  }
  for (const [place, at, says] of failures) {
    await tab.go(place, at)
    await judge(place, at, says)
  }
  await tab.go('/settings/hosted-keys', '.list button:has-text("测试")')
  await tab.page.locator('.list button', { hasText: '测试' }).first().click()
  await judge('/settings/hosted-keys', 'body', '的服务器都不会使用此密钥')
  await tab.close()
  expect(found).toEqual([])
}, 300_000)

/** The part of a Chinese title before the first value in it. */
function titleOf(code: string): string {
  const [start = ''] = (titles[code as keyof typeof titles] ?? code).split(/[{[]/)
  return start
}

/** Places that cannot be shown, and the reason. */
const REFUSALS: readonly (readonly [string, string])[] = [
  ['/servers/admin~lost', titles.server_not_found],
  ['/groups/admin~own', titles.group_not_found],
  ['/market/bundled:lost', words['No such template'] ?? ''],
  ['/alerts/rules/lost', titles.rule_not_found],
  ['/alerts/channels/lost', titles.channel_not_found],
]

/** Mistakes of a person, with the place where the error is shown and its text. */
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
    // Words of plugins come a moment after the page.
    const isSaid = await tab.page
      .locator(at, { hasText: says })
      .first()
      .waitFor({ timeout: 10_000 })
      .then(
        () => true,
        () => false,
      )
    if (!isSaid) found.push(`${place} has no ${says}: ${await tab.page.locator(at).first().textContent()}`)
    found.push(...(await englishOf(tab)))
  }
  // A page that is drawn before the words of plugins are there has them afterwards.
  const { promise: drawn, resolve } = Promise.withResolvers<void>()
  await tab.page.route('**/api/plugins/pages', async route => {
    await drawn
    await route.continue()
  })
  await tab.page.goto(`${hub.url}/market/bundled:lost`)
  await tab.page.waitForSelector('.callout.bad')
  resolve()
  await judge('/market/bundled:lost', '.callout.bad', words['No such template'] ?? '')
  for (const [place, reason] of REFUSALS) {
    await tab.go(place, '.callout.bad, .empty')
    await judge(place, '.callout.bad, .empty', reason)
  }
  for (const { place, act, at, says } of MISTAKES) {
    await tab.page.goto(`${hub.url}${place}`)
    await act(tab)
    await judge(place, at, says)
  }
  await tab.close()
  expect(found).toEqual([])
}, 300_000)
