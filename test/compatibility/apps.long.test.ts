import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Frame, Page } from 'playwright-core'
import { openBrowser } from '../browser/support/console.ts'
import { type Client, type Hub, ROOT, stdioFixture } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { until } from '../support/wait.ts'
import { program } from './foreign/servers.ts'

const SAMPLES = join(import.meta.dir, 'foreign/node_modules/@modelcontextprotocol')
const sample = (name: string) => ({
  command: process.execPath,
  args: [join(SAMPLES, name, 'dist/index.js'), '--stdio'],
})

let hub: Hub
let admin: Client
let web: Bun.Server<undefined>
let browser: Browser
let page: Page

beforeAll(async () => {
  const settings = {
    mcpServers: {
      clock: sample('server-basic-vanillajs'),
      budget: sample('server-budget-allocator'),
      board: stdioFixture('apps', { NAME: 'board' }),
      other: stdioFixture('apps', { NAME: 'other' }),
    },
    groups: [
      { name: 'apps', naming: 'prefixed', members: ['clock', 'budget', 'board'] },
      { name: 'alike', members: ['board', 'other'] },
    ],
  }
  ;({ hub, admin } = await startOnline({ settings, timeoutMs: 120_000 }))
  web = await startPage()
  browser = await openBrowser()
  page = await browser.newPage({ viewport: { width: 1_000, height: 1_400 } })
  await page.goto(`http://127.0.0.1:${web.port}/`)
}, 300_000)

afterAll(async () => {
  await web?.stop(true)
  await hub?.stop()
}, 60_000)

/** The page of the host, and the hub's addresses below the same origin with the key of the client. */
async function startPage(): Promise<Bun.Server<undefined>> {
  const built = await Bun.build({ entrypoints: [program('apps-host')], target: 'browser' })
  const script = await built.outputs[0]?.text()
  const html =
    '<!doctype html><style>iframe { width: 900px; height: 400px }</style><body><script src="/host.js"></script>'
  const authorization = `Bearer ${await admin.mcpKey()}`
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname === '/') return new Response(html, { headers: { 'content-type': 'text/html' } })
      if (pathname === '/host.js') return new Response(script, { headers: { 'content-type': 'text/javascript' } })
      const headers = new Headers(request.headers)
      for (const name of ['host', 'origin', 'referer']) headers.delete(name)
      headers.set('authorization', authorization)
      const body = request.method === 'POST' ? await request.text() : null
      return fetch(`${hub.url}${pathname}`, { method: request.method, headers, body, signal: request.signal })
    },
  })
}

/** Draws a tool's result; the frame of its view, and the URI of its page. */
async function draw(path: string, tool: string): Promise<{ readonly frame: Frame; readonly uri: string }> {
  const expression = `draw(${JSON.stringify(path)}, ${JSON.stringify(tool)})`
  const uri = await page.evaluate<string>(expression)
  const frame = page.frames().findLast(one => one.name() === tool)
  if (!frame) throw new Error(`no frame for ${tool}`)
  return { frame, uri }
}

/** Waits until an element of a view has a text that fits, and returns it. */
async function text(frame: Frame, selector: string, fits: (text: string) => boolean, what: string): Promise<string> {
  let seen = ''
  const matches = async (): Promise<boolean> => {
    seen = (await frame.locator(selector).textContent()) ?? ''
    return fits(seen)
  }
  await until(matches, { what })
  return seen
}

test('the official host draws the official samples through a group, and their views call tools by their own names', async () => {
  const clock = await draw('/mcp/apps', 'clock_get-time')
  expect(clock.uri).toMatch(/^ui:\/\/clock\/./)
  const isTime = (said: string): boolean => /^\d{4}-\d\d-\d\dT/.test(said)
  const before = await text(clock.frame, '#server-time', isTime, 'the time of the result')
  // The view calls `get-time`, which is `clock_get-time` in the group.
  await clock.frame.locator('#get-time-btn').click()
  await text(clock.frame, '#server-time', said => isTime(said) && said !== before, 'the time of the call')
  const budget = await draw('/mcp/apps', 'budget_get-budget-data')
  expect(budget.uri).toMatch(/^ui:\/\/budget\/./)
  await text(budget.frame, 'body', said => said.includes('Marketing'), 'the budget')
  expect(await budget.frame.locator('canvas').count()).toBeGreaterThan(0)
  const board = await draw('/mcp/apps', 'board_show')
  expect(board.uri).toBe('ui://board/board/page.html')
  await text(board.frame, '#said', said => said === 'board refresh', 'the answer of its own tool')
  const folder = join(ROOT, 'out/screenshots')
  await mkdir(folder, { recursive: true })
  await page.screenshot({ path: join(folder, 'apps.png'), fullPage: true })
}, 300_000)

test('the view of one of two servers alike gets its own answer, and with both open a refusal in words', async () => {
  const board = await draw('/mcp/alike', 'board_show')
  await text(board.frame, '#said', said => said === 'board refresh', 'the answer of its own tool')
  const other = await draw('/mcp/alike', 'other_show')
  await text(other.frame, '#said', said => said.includes('Several servers here have a tool "refresh"'), 'the refusal')
}, 120_000)
