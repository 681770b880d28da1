/** The patch bay in a real browser: cords for few servers, strips and a table for many, and its keys. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { startGoodAndBad } from '../support/good-and-bad.ts'
import { type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { axe, openBrowser, openTab } from './support/console.ts'

const remote = startGoodAndBad()
let browser: Browser
let hub: Hub
let ofFew: Client
let ofMany: Client

beforeAll(async () => {
  browser = await openBrowser()
  // Stopped ones cost nothing; three that fail are what has to be found among them.
  const mcpServers: Record<string, object> = {}
  for (let n = 0; n < 197; n += 1) mcpServers[`s${String(n).padStart(3, '0')}`] = { url: remote.url, enabled: false }
  for (const name of ['x1', 'x2', 'x3']) mcpServers[name] = { command: 'no-such-program-of-a-test' }
  const groups = [0, 1, 2, 3].map(at => ({
    name: `g${at}`,
    members: Object.keys(mcpServers).filter((_, n) => n % 4 === at),
  }))
  hub = await startHub({ env: LOOPBACK, settings: { mcpServers, groups } })
  ofMany = await hub.setup()
  ofFew = await hub.user('ann')
  for (const name of ['a', 'b', 'c', 'd']) await ofFew.ok('POST', '/api/servers', { name, url: remote.url })
  await ofFew.ok('POST', '/api/servers', { name: 'broken', url: 'http://127.0.0.1:9/mcp' })
  await ofFew.ok('POST', '/api/groups', { name: 'left', members: ['a', 'b', 'broken'] })
  await ofFew.ok('POST', '/api/groups', { name: 'right', members: ['c'] })
  await online(ofFew, ['a', 'b', 'c', 'd'], 60_000)
  await until(async () => (await statusOf(ofFew, 'broken')).state === 'offline', { what: 'a server that is not there' })
  const client = await ofFew.mcp('/mcp/left')
  const { tools } = await client.listTools()
  await client.callTool({ name: tools.find(({ name }) => name.includes('good'))?.name ?? '' })
}, 300_000)
afterAll(async () => {
  await hub?.stop()
  await remote.stop()
}, 120_000)

test('five servers are cords: each plate is drawn, a broken one says so, keys go along and across columns', async () => {
  const tab = await openTab(browser, hub, ofFew)
  const { page } = tab
  await tab.open('/groups?view=bay')
  await page.waitForSelector('[data-col="2"] [data-node]')
  const names = (column: number) => page.locator(`[data-col="${column}"] .nm`).allTextContents()
  expect((await names(2)).sort()).toEqual(['a', 'b', 'broken', 'c', 'd'])
  expect((await names(1)).sort()).toEqual(['left', 'right'])
  expect(await names(0)).toEqual(['patchbay-test'])
  // Three and one servers in groups, and one client.
  expect(await page.locator('.cords path').count()).toBe(5)
  // A server that does not answer is between two attempts most of the time.
  await page.waitForSelector('.cords path.bad', { state: 'attached' })
  expect(await page.locator('.cords path.bad').count()).toBe(1)
  const focused = () => page.evaluate(() => document.activeElement?.querySelector('.nm')?.textContent)
  await page.focus('[data-col="0"] [data-node]')
  await page.keyboard.press('ArrowRight')
  expect(await focused()).toBe('left')
  await page.keyboard.press('ArrowRight')
  const column = await names(2)
  const at = column.indexOf((await focused()) ?? '')
  const [step, next] = at + 1 < column.length ? ['ArrowDown', at + 1] : ['ArrowUp', at - 1]
  await page.keyboard.press(step as string)
  expect(await focused()).toBe(column[next as number] as string)
  await page.focus('[data-col="1"] [data-node]:has-text("right")')
  await page.keyboard.press('Enter')
  await page.waitForSelector('.plate.lit:has-text("right")')
  expect(new URL(page.url()).searchParams.get('follow')).not.toBeNull()
  expect(await page.locator('.plate.on').allTextContents()).toHaveLength(1)
  await page.keyboard.press('Escape')
  await page.waitForSelector('.plate.lit', { state: 'detached' })
  await tab.close()
}, 120_000)

test('200 servers are strips with a jack each, and a table with a row each', async () => {
  const tab = await openTab(browser, hub, ofMany)
  const { page } = tab
  // An administrator sees those of the other test as well.
  await tab.open('/groups?view=bay&scope=mine')
  await page.waitForSelector('.strip')
  expect(await page.locator('.strip').count()).toBe(4)
  const jacks = page.locator('.strip .jackfield')
  const drawn = await jacks.evaluateAll(fields =>
    fields.map(field => field.querySelectorAll('.off, .con, .stp, .r').length),
  )
  expect(drawn).toEqual([50, 50, 50, 50])
  await page.waitForFunction(() => document.querySelectorAll('.strip .jackfield .off').length === 3)
  const labels = await jacks.evaluateAll(fields => fields.map(field => field.getAttribute('aria-label') ?? ''))
  expect(labels.filter(label => /^50 servers: 1 offline, 49 stopped$/.test(label))).toHaveLength(3)
  expect(labels).toContain('50 servers: 50 stopped')
  await page.click('.filters .chip:has-text("Faults")')
  // So few are cords again.
  await page.waitForFunction(() => document.querySelectorAll('[data-col="2"] [data-node]').length === 3)
  expect((await page.locator('[data-col="2"] .nm').allTextContents()).sort()).toEqual(['x1', 'x2', 'x3'])
  await page.click('.filters .chip:has-text("Faults")')
  await page.waitForFunction(() => document.querySelectorAll('.strip').length === 4)
  await page.focus('.strip')
  await page.keyboard.press('ArrowDown')
  const second = await page.locator('.strip').nth(1).getAttribute('data-node')
  expect(await page.evaluate(() => document.activeElement?.getAttribute('data-node'))).toBe(second)
  await page.keyboard.press(']')
  await page.waitForSelector('.insp')
  expect(new URL(page.url()).searchParams.get('jack')).not.toBeNull()
  expect(await axe(tab)).toEqual([])
  await tab.fitsSideways('asPhone')
  await page.click('.seg >> text=Table')
  await page.waitForSelector('.tw table.cards')
  expect(await page.locator('.tw table.cards tbody tr').count()).toBe(200)
  await tab.close()
}, 120_000)
