// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of servers, not template strings
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { extent } from '../support/extent.ts'
import { type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { axe, openBrowser, openTab, PHONE, type View } from './support/console.ts'

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub({ settings: { mcpServers: { taken: stdioFixture('echo') } } })
  admin = await hub.setup()
  await online(admin, ['taken'])
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await hub?.stop()
}, 120_000)

/** With a comment, a trailing comma, a secret, a variable, a placeholder, a taken name and an entry that is wrong. */
function pasted(name: string): string {
  const echo = JSON.stringify(
    stdioFixture('echo', { SERVICE_TOKEN: 'tok-1234567890abcdef', HOME_OF: '${HOME_OF}', ACCOUNT: '<YOUR_ACCOUNT>' }),
  ).slice(1, -1)
  return `{
  "mcpServers": {
    // mine
    "${name}": {${echo}},
    "taken": {${JSON.stringify(stdioFixture('echo')).slice(1, -1)}},
    "wrong": {"comand": "npx"},
  }
}`
}

const VIEWS: readonly (readonly [string, View, string])[] = [
  ['Chinese, dark, wide', { language: 'zh', theme: 'dark' }, 'first'],
  ['English, light, phone', PHONE, 'second'],
  ...extent<readonly (readonly [string, View, string])[]>([], [['English, light, wide', {}, 'third']]),
]

test.each(VIEWS)('a pasted configuration becomes servers: %s', async (_, view, name) => {
  const chinese = view.language === 'zh'
  const tab = await openTab(browser, hub, admin, view)
  const { page } = tab
  const answers: string[] = []
  page.on('response', async answer => {
    if (answer.url().includes('/api/')) answers.push(await answer.text().catch(() => ''))
  })
  await tab.open('/servers/new')
  await page.fill('#pasted', pasted(name))
  await page.click(chinese ? 'button:has-text("读取")' : 'button:has-text("Read it")')
  await page.waitForSelector('.entries li >> nth=2')
  // The wrong entry names its place in what was pasted.
  const wrong = page.locator('.entries li', { hasText: 'wrong' })
  expect(await wrong.textContent()).toMatch(chinese ? /第 6 行，第 \d+ 列/ : /Line 6, column \d+/)
  // The taken name is skipped until something else is chosen.
  const taken = page.locator('.entries li', { hasText: 'taken' })
  await taken.locator('select').selectOption('rename')
  expect(await page.inputValue('#entry-name')).toBe('taken-2')
  await page.fill('#entry-name', `${name}-copy`)
  await page.locator('.entries li', { hasText: name }).first().locator('button').first().click()
  // The secret is a secret field, and what was left open is asked for.
  expect(await page.getAttribute('[id="blank-SERVICE_TOKEN"]', 'type')).toBe('password')
  const save = page.locator('section.entry .foot button.pri')
  expect(await save.isDisabled()).toBe(true)
  await page.fill('[id="blank-HOME_OF"]', '/tmp')
  await page.fill('[id="blank-ACCOUNT"]', 'ada')
  await page.locator('pb-entry button.sm').last().click()
  await page.waitForSelector('pb-entry details')
  expect(await page.locator('.steps .ok').count()).toBeGreaterThanOrEqual(3)
  await tab.fitsSideways()
  await save.click()
  await page.waitForURL(/\/servers$/)
  await online(admin, [name, `${name}-copy`])
  const record = await admin.ok('GET', `/api/servers/admin~${name}`)
  expect(record.variables).toEqual({ HOME_OF: '/tmp' })
  expect(record.env.ACCOUNT).toBe('ada')
  // The secret came in by the paste and is in no answer.
  expect(answers.join('\n')).not.toContain('tok-1234567890abcdef')
  expect(answers.length).toBeGreaterThan(3)
  await tab.close()
})

test('an address and a program by their forms; what is missing is said at its field', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/servers/new?way=program')
  await page.click('button:has-text("Go on")')
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('manual-name')
  const { command, args } = stdioFixture('echo') as { command: string; args: string[] }
  await page.fill('#manual-name', 'by-form')
  await page.fill('#manual-command', command)
  await page.fill('#manual-args', args.join('\n'))
  await page.fill('#manual-env', 'API_KEY=abc-0123456789')
  await page.click('button:has-text("Go on")')
  await page.waitForSelector('pb-entry')
  expect(await page.getAttribute('[id="blank-API_KEY"]', 'type')).toBe('password')
  await page.click('button:has-text("Save 1 server")')
  await page.waitForURL(/admin~by-form/)
  await online(admin, ['by-form'])
  await tab.close()
})

test('a server that cannot be reached: the step says why, and saving anyway is possible', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/servers/new')
  await page.fill('#pasted', 'http://127.0.0.1:9/mcp')
  await page.click('button:has-text("Read it")')
  await page.waitForSelector('pb-entry')
  await page.fill('#entry-name', 'nobody-there')
  await page.click('section.entry .foot button.pri')
  await page.waitForSelector('.steps .bad')
  expect(await page.textContent('pb-entry')).toContain('refused')
  await page.click('button:has-text("Save without testing")')
  await page.waitForURL(/admin~nobody-there/)
  await tab.close()
})

test('axe finds no violation, light, dark and phone', async () => {
  for (const view of extent<readonly View[]>([{ theme: 'dark' }, PHONE], [{}, { theme: 'dark' }, PHONE])) {
    const tab = await openTab(browser, hub, admin, { ...view, withoutPolicy: true })
    await tab.open('/servers/new')
    await tab.page.fill('#pasted', pasted('axe'))
    await tab.page.click('button:has-text("Read it")')
    await tab.page.waitForSelector('pb-entry')
    expect(await axe(tab)).toEqual([])
    await tab.close()
  }
})
