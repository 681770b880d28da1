/**
 * Two people in two browsers: a group is made and shared with one person, who sees it, calls it, and loses it. Then invitation links
 * that give nothing, and a server whose users sign in for themselves.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { Browser, Locator, Page } from 'playwright-core'
import { type Client, type Hub, LOOPBACK, PASSWORD, startHub, stdioFixture } from '../support/hub.ts'
import { GuardedServer, Issuer, signInAt } from '../support/issuer.ts'
import { atLeast } from '../support/pace.ts'
import { callText, online, toolNames } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { axe, openBrowser, openTab, PHONE, VIEWS } from './support/console.ts'

setDefaultTimeout(120_000)

/** Longest time in which the end of a share acts. */
const ACTS_MS = 5_000

let browser: Browser
let hub: Hub
let admin: Client
let ada: Client
let cleo: Client
let dora: Client

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  ;[ada, cleo, dora] = [await hub.user('ada', 'admin'), await hub.user('cleo'), await hub.user('dora')]
  await ada.ok('POST', '/api/servers', { name: 'linked', url: 'http://127.0.0.1:9/mcp', enabled: false })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
}, 120_000)

/** Counts what a person does: each click, each field that is filled in, each choice. */
class Deeds {
  readonly done: string[] = []

  async click(what: string, target: Locator): Promise<void> {
    this.done.push(what)
    await target.click()
  }

  async fill(what: string, target: Locator, text: string): Promise<void> {
    this.done.push(what)
    await target.fill(text)
  }
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** A client as its configuration file describes it. */
async function clientOf(text: string): Promise<McpClient> {
  const { mcpServers } = JSON.parse(text) as {
    readonly mcpServers: Readonly<Record<string, { readonly url: string; readonly headers: Record<string, string> }>>
  }
  const [entry] = Object.values(mcpServers)
  if (!entry) throw new Error(`No server in ${text}`)
  const client = new McpClient({ name: 'official', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL(entry.url), { requestInit: { headers: entry.headers } })
  // The SDK's own class does not satisfy its interface under exactOptionalPropertyTypes.
  await client.connect(transport as Transport)
  return client
}

test('a group is made, shared with one person, seen, called, and taken away', async () => {
  const owner = await openTab(browser, hub, ada)
  const colleague = await openTab(browser, hub, cleo)
  const [mine, theirs] = [new Deeds(), new Deeds()]
  // The colleague has the console open, and loads no page again.
  await colleague.open('/groups?scope=shared')
  await colleague.page.getByText('Nothing is shared with you').waitFor()
  await colleague.page.evaluate(() => Object.assign(globalThis, { neverLoadedAgain: true }))

  const { page } = owner
  await owner.open('/servers/new')
  const mcpServers = { notes: stdioFixture('echo'), files: stdioFixture('echo') }
  await mine.fill('paste', page.locator('#pasted'), JSON.stringify({ mcpServers }))
  await mine.click('read', button(page, 'Read it'))
  await mine.click('save', page.locator('section.entry .foot button.pri'))
  await page.waitForURL(/\/servers$/)
  await online(ada, ['notes', 'files'])
  await owner.open('/groups/new?servers=notes,files')
  await mine.fill('name', page.locator('#g-name'), 'daily')
  await mine.fill('description', page.locator('#g-description'), 'Notes and files of the crew')
  await mine.click('make', button(page, 'Make group'))
  await page.waitForURL(/\/groups\/ada~daily$/)
  await mine.fill('person', page.locator('#share-name'), 'cleo')
  await mine.click('share', button(page, 'Share'))
  await page.locator('.sharing .list li').getByText('cleo', { exact: true }).waitFor()

  await theirs.click('open', colleague.page.locator('a.nm:has-text("daily")'))
  await colleague.page.getByText('Shared with you by ada: use.').waitFor()
  await colleague.page.getByText('Notes and files of the crew').waitFor()
  // The role shows what it is for, and no control that it may not use.
  expect(await colleague.page.locator('main :is(input, select, textarea):disabled').count()).toBe(0)
  const acts = await colleague.page.locator('.head .acts button').allTextContents()
  expect(acts.map(text => text.trim())).toEqual(['Connect a client'])
  expect(await axe(colleague)).toEqual([])
  await colleague.fitsSideways('asPhone')
  await theirs.click('tool', colleague.page.locator('.toollist a:has-text("notes_echo")'))
  await theirs.fill('text', colleague.page.locator('pb-try-tool pb-schema-form input').first(), 'by hand')
  await theirs.click('run', button(colleague.page, 'Run tool'))
  await colleague.page.locator('.tryres').getByText('by hand').waitFor()

  await theirs.click('connect', button(colleague.page, 'Connect a client'))
  await theirs.click('Cursor', colleague.page.getByRole('radio', { name: 'Cursor' }))
  await theirs.click('key', button(colleague.page, 'Make key'))
  await colleague.page.getByText('This key is shown once.').waitFor()
  const text = (await colleague.page.locator('.connect-text').textContent()) ?? ''
  expect(text).toContain('/mcp/@ada/daily')
  const client = await clientOf(text)
  expect(await toolNames(client)).toContain('notes_echo')
  expect(await callText(client, 'files_echo', { text: 'by a client' })).toContain('by a client')
  await colleague.page.getByText(/^Connected, official/).waitFor()
  await colleague.page.keyboard.press('Escape')

  // The owner reads whose calls they were.
  await mine.click('logs', page.getByRole('link', { name: 'Logs of this group' }))
  await mine.click('call', page.locator('tr[data-key]', { hasText: 'echo' }).first())
  await page.locator('dl.recf dd:has-text("cleo")').waitFor()

  await owner.open('/groups/ada~daily')
  await mine.click('end', page.getByRole('button', { name: 'End sharing with cleo' }))
  await mine.click('confirm', page.locator('wa-dialog').getByRole('button', { name: 'End sharing' }))
  const endedMs = Date.now()
  await colleague.page.getByText('daily is not shared with you any more').waitFor({ timeout: ACTS_MS })
  const seenMs = Date.now() - endedMs
  await until(
    async () => (await client.callTool({ name: 'notes_echo', arguments: {} }).catch(() => undefined)) === undefined,
    {
      ...{ timeoutMs: ACTS_MS, what: 'the calls of the client to be refused' },
    },
  )
  expect(await client.listTools().catch(() => 'refused')).toBe('refused')
  expect(await colleague.page.getByText('Ask ada if you still need it.').isVisible()).toBe(true)
  expect(await colleague.page.locator('main .callout.bad, main code').count()).toBe(0)
  expect(await axe(colleague)).toEqual([])
  await theirs.click('back', colleague.page.getByRole('link', { name: 'To the groups' }))
  await colleague.page.getByText('Nothing is shared with you').waitFor()
  expect(await colleague.page.evaluate(() => 'neverLoadedAgain' in globalThis)).toBe(true)
  console.log(
    `owner: ${mine.done.length} deeds (${mine.done.join(', ')}), colleague: ${theirs.done.length} (${theirs.done.join(', ')}), lost after ${seenMs} ms`,
  )
  expect([mine.done.length, theirs.done.length]).toEqual([12, 8])
  await client.close()
  await owner.close()
  await colleague.close()
})

test('a link is made for one person, who signs in and accepts it, and nobody else can use it', async () => {
  await ada.ok('POST', '/api/groups', { name: 'invited', members: ['linked'] })
  const owner = await openTab(browser, hub, ada)
  await owner.open('/groups/ada~invited')
  await owner.page.getByRole('link', { name: 'Invite by link' }).click()
  await button(owner.page, 'Make link').click()
  const link = (await owner.page.locator('.keytext').textContent()) ?? ''
  const guest = await openTab(browser, hub)
  await guest.page.goto(link)
  await guest.page.fill('#user', 'cleo')
  await guest.page.fill('#password', PASSWORD)
  await guest.page.locator('button.pri').click()
  await guest.page.getByRole('heading', { name: 'ada shares with you' }).waitFor()
  await button(guest.page, 'Accept').click()
  await guest.page.getByRole('link', { name: 'Open group invited' }).click()
  await guest.page.getByText('Shared with you by ada: use.').waitFor()
  // The owner's page shows the new colleague without a reload.
  await owner.open('/groups/ada~invited')
  await owner.page.locator('.sharing .list li').getByText('cleo', { exact: true }).waitFor()
  await guest.page.goto(link)
  await guest.page.getByRole('heading', { name: 'This invitation was used already' }).waitFor()
  // Forwarded: another person gets nothing.
  await button(guest.page, 'Sign in as somebody else').click()
  await guest.page.fill('#user', 'dora')
  await guest.page.fill('#password', PASSWORD)
  await guest.page.locator('button.pri').click()
  await guest.page.getByText('Signed in as dora.').waitFor()
  await guest.page.getByRole('heading', { name: 'This invitation was used already' }).waitFor()
  expect((await dora.request('GET', '/api/groups/ada~invited')).status).toBe(404)
  await guest.close()
  await owner.close()
})

/** The headings of links that give nothing. */
const NOTHING = {
  ended: { en: 'This invitation has ended', zh: '此邀请已结束' },
  used: { en: 'This invitation was used already', zh: '此邀请已被使用' },
  unknown: { en: 'This link opens nothing', zh: '此链接无法打开任何内容' },
} as const

test.each(VIEWS)('a link that gives nothing says why, and what to do: %s', async (name, view) => {
  const at = VIEWS.findIndex(([other]) => other === name)
  // Each view has a reader of its own: guesses of one user are limited.
  const reader = await hub.user(`reader${at}`)
  const erin = await hub.user(`erin${at}`)
  await erin.ok('POST', '/api/servers', {
    name: `hers${at}`,
    url: 'http://127.0.0.1:9/mcp',
    enabled: false,
  })
  const invite = async (by: Client, ref: string, more: object = {}): Promise<string> => {
    const things = [{ kind: 'server', ref }]
    return (await by.ok('POST', '/api/invitations', { things, role: 'use', ...more })).url
  }
  const expired = await invite(ada, 'linked', { expires: new Date(Date.now() + atLeast(2_000)).toISOString() })
  const used = await invite(ada, 'linked')
  await dora.ok('POST', '/api/invitations/accept', { token: new URL(used).hash.slice(1) })
  const removed = await invite(erin, `hers${at}`)
  await admin.ok('DELETE', `/api/admin/users/${erin.name}?transferTo=admin`)
  const frank = await hub.user(`frank${at}`)
  await frank.ok('POST', '/api/servers', { name: 'shut', url: 'http://127.0.0.1:9/mcp', enabled: false })
  const disabled = await invite(frank, 'shut')
  await admin.ok('PATCH', `/api/admin/users/${frank.name}`, { disabled: true })
  await until(
    async () =>
      (await reader.request('POST', '/api/invitations/preview', { token: new URL(expired).hash.slice(1) })).status ===
      410,
    { what: 'the end of the invitation' },
  )
  const tab = await openTab(browser, hub, reader, view)
  const { page } = tab
  const language = view.language ?? 'en'
  for (const [link, why] of [
    [expired, 'ended'],
    [used, 'used'],
    [`${hub.url}/invite#pbi_${'x'.repeat(32)}`, 'unknown'],
    [`${hub.url}/invite`, 'unknown'],
    [removed, 'unknown'],
    [disabled, 'ended'],
  ] as const) {
    // The part behind # alone loads no page.
    await tab.open('/groups')
    await page.goto(link)
    await page.locator('pb-invite h1', { hasText: NOTHING[why][language] }).waitFor()
    expect(await page.locator('pb-invite code, pb-invite .callout').count()).toBe(0)
    expect(await page.locator('pb-invite a.btn').count()).toBe(1)
  }
  expect(await axe(tab)).toEqual([])
  await tab.fitsSideways()
  await tab.close()
})

test('a server whose users sign in for themselves says who has to, to each reader', async () => {
  const issuer = await Issuer.start()
  const guarded = await GuardedServer.start(issuer)
  const bob = await hub.user('bob')
  await bob.ok('POST', '/api/servers', { name: 'calendar', url: guarded.url, oauth: {} })
  for (const [person, role] of [
    ['cleo', 'use'],
    ['dora', 'see'],
  ])
    await bob.ok('PUT', `/api/servers/calendar/shares/user:${person}`, { role })
  const { authorizeUrl } = await dora.ok('POST', '/api/servers/bob~calendar/connect', {})
  await dora.ok('POST', '/api/connections/finish', { url: await signInAt(authorizeUrl, 'dora-there') })

  const asked = await openTab(browser, hub, cleo, PHONE)
  await asked.open('/servers?scope=shared')
  await asked.page.locator('tr', { hasText: 'calendar' }).getByText('Sign-in needed').waitFor()
  const chips = () => asked.page.locator('.filters .chip').allTextContents()
  const counted = (await chips()).map(text => text.replace(/\s+/g, ' ').trim())
  expect([counted.includes('Sign-in needed 1'), counted.includes('Offline 0')]).toEqual([true, true])
  await asked.page.getByRole('button', { name: /^Sign-in needed/ }).click()
  await asked.page.locator('tr', { hasText: 'calendar' }).waitFor()
  await asked.page.getByRole('button', { name: /^Offline/ }).click()
  await asked.page.getByText('calendar', { exact: true }).waitFor({ state: 'detached' })
  await asked.open('/servers/bob~calendar')
  await asked.page.getByText('It wants each of its users to sign in.').waitFor()
  expect(await asked.page.getByText('Offline').count()).toBe(0)
  expect(await axe(asked)).toEqual([])
  await asked.page.locator('.head').getByRole('link', { name: 'Sign in' }).click()
  await asked.page.getByRole('heading', { name: 'Sign in at “calendar”' }).waitFor()
  await asked.close()

  const signed = await openTab(browser, hub, dora)
  await signed.open('/servers/bob~calendar')
  await signed.page.getByText('It works for you with your own sign-in.').waitFor()
  await signed.page.locator('.head').getByText('Works for you').waitFor()
  expect(await axe(signed)).toEqual([])

  // Values that dora has entered stay hers when the share ends, to remove.
  const bring = [{ name: 'key', label: 'Key', in: 'header', key: 'X-Key' }]
  await bob.ok('POST', '/api/servers', { name: 'keyed', url: guarded.url, bring, enabled: false })
  await bob.ok('PUT', '/api/servers/keyed/shares/user:dora', { role: 'use' })
  await dora.ok('PUT', '/api/servers/bob~keyed/connections/me', { values: { key: 'of-dora' } })
  await bob.ok('DELETE', '/api/servers/keyed/shares/user:dora')
  await signed.open('/connections')
  const row = signed.page.locator('tr', { hasText: 'a server that is not shared with you any more' })
  await row.getByRole('button', { name: /^Remove your values/ }).click()
  await signed.page.locator('wa-dialog').getByRole('button', { name: 'Remove the values' }).click()
  await row.waitFor({ state: 'detached' })
  expect((await dora.ok('GET', '/api/connections')).items).toHaveLength(1)
  await signed.close()
  await guarded.stop()
  await issuer.stop()
})
