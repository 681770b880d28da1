/** A server and a group are shared in the console: a colleague finds them, uses them within the role, and loses them again. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { type Hub, LOOPBACK, PASSWORD, stdioFixture } from '../support/hub.ts'
import { oldSession } from '../support/old-session.ts'
import { startOnline } from '../support/online-hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { axe, openBrowser, openTab, VIEWS } from './support/console.ts'

setDefaultTimeout(120_000)

/** A folder for pictures of the pages, if they are wanted. */
const PICTURES = process.env.SHARING_PICTURES

let browser: Browser
let hub: Hub
let admin: Client
let ada: Client
let cleo: Client

beforeAll(async () => {
  browser = await openBrowser()
  const settings = { mcpServers: { hubs: stdioFixture('echo') } }
  ;({ hub, admin } = await startOnline({ env: LOOPBACK, settings }))
  ;[ada, cleo] = [await hub.user('ada', 'admin'), await hub.user('cleo')]
  await ada.ok('POST', '/api/servers', { name: 'notes', ...stdioFixture('echo') })
  await ada.ok('POST', '/api/servers', { name: 'files', ...stdioFixture('echo') })
  await online(ada, ['notes', 'files'])
  await ada.ok('POST', '/api/groups', { name: 'daily', members: ['notes', 'files'] })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
}, 120_000)

test('a server is shared, found without a reload, used, and lost when it is taken away', async () => {
  const owner = await openTab(browser, hub, ada)
  const colleague = await openTab(browser, hub, cleo)
  await colleague.open('/servers?scope=shared')
  await colleague.page.getByText('Nothing is shared with you').waitFor()
  await owner.open('/servers/ada~notes?tab=access')
  await owner.page.getByText('It is shared with nobody yet.').waitFor()
  await owner.page.fill('#share-name', 'cleo')
  await owner.page.getByRole('button', { name: 'Share', exact: true }).click()
  await owner.page.locator('.sharing .list li').getByText('cleo', { exact: true }).waitFor()
  // Neither page is loaded again: the colleague's list follows the event.
  await colleague.page.locator('a.nm:has-text("notes")').click()
  await colleague.page.getByText('It belongs to ada, who lets you use it.').waitFor()
  const tabs = () => colleague.page.locator('nav.tabs a').allTextContents()
  expect((await tabs()).map(text => text.replace(/[\d\s]+/g, ''))).toEqual([
    'Overview',
    'Tools',
    'Prompts',
    'Resources',
  ])
  expect(await colleague.page.getByRole('button', { name: /Stop server|Restart|Leave$/ }).allTextContents()).toEqual([
    'Leave',
  ])
  await colleague.page.locator('nav.tabs a:has-text("Tools")').click()
  await colleague.page.locator('.toollist a:has-text("echo")').first().click()
  await colleague.page.waitForSelector('pb-try-tool')
  const client = await cleo.mcp('/mcp/@ada/notes')
  const call = () => client.callTool({ name: 'echo', arguments: { text: 'by a colleague' } })
  expect(JSON.stringify((await call()).content)).toContain('by a colleague')
  // A greater role has more of the page at once.
  await owner.page.getByLabel('Role of cleo').selectOption('see')
  await colleague.page.locator('nav.tabs a:has-text("Logs")').waitFor()
  expect(await colleague.page.getByRole('button', { name: 'Stop server' }).count()).toBe(0)
  await owner.page.getByLabel('Role of cleo').selectOption('change')
  await colleague.page.getByRole('button', { name: 'Stop server' }).waitFor()
  expect(await colleague.page.locator('nav.tabs a:has-text("Access")').count()).toBe(0)
  await owner.page.getByRole('button', { name: 'End sharing with cleo' }).click()
  await owner.page.locator('wa-dialog').getByRole('button', { name: 'End sharing' }).click()
  await owner.page.getByText('It is shared with nobody yet.').waitFor()
  await colleague.page.getByText('notes is not shared with you any more').waitFor()
  expect(await colleague.page.getByRole('button', { name: 'Stop server' }).count()).toBe(0)
  await until(async () => (await call().catch(() => undefined)) === undefined, {
    ...{ timeoutMs: 5_000, what: 'the endpoint to refuse the colleague' },
  })
  await owner.close()
  await colleague.close()
})

test('a group is previewed as a colleague, who leaves it; a member of others is shared too', async () => {
  await admin.ok('PUT', '/api/servers/hubs/shares/user:ada', { role: 'use' })
  await ada.ok('POST', '/api/groups', { name: 'mixed', members: ['notes', 'admin~hubs'] })
  await ada.ok('PUT', '/api/groups/mixed/shares/user:cleo', { role: 'use' })
  const owner = await openTab(browser, hub, ada)
  const { page } = owner
  await owner.open('/groups/ada~mixed')
  await page.getByRole('button', { name: 'Preview as cleo' }).click()
  await page.getByRole('heading', { name: 'A client of cleo will see' }).waitFor()
  const names = () => page.locator('pb-view-as .names li').allTextContents()
  expect(await names()).toHaveLength(3)
  await page.getByRole('button', { name: 'Share hubs with them' }).click()
  await page.locator('pb-view-as .names li').nth(5).waitFor()
  expect((await admin.ok('GET', '/api/servers/hubs/shares')).items).toMatchObject([
    { subject: 'user:ada' },
    { subject: 'user:cleo', role: 'use' },
  ])
  await page.getByText('not all who may use the group get it').waitFor({ state: 'detached' })
  const colleague = await openTab(browser, hub, cleo)
  await colleague.open('/groups?scope=shared')
  await colleague.page.locator('a.nm:has-text("mixed")').click()
  await colleague.page.getByText('Shared with you by ada: use.').waitFor()
  expect(await colleague.page.locator('#g-name').count()).toBe(0)
  expect(await colleague.page.getByRole('button', { name: /^(?:Save|Delete group)$/ }).count()).toBe(0)
  await colleague.page.getByRole('button', { name: 'Leave' }).click()
  await colleague.page.locator('wa-dialog').getByRole('button', { name: 'Leave' }).click()
  await colleague.page.waitForURL('**/groups')
  await page.getByText('It is shared with nobody yet.').waitFor()
  await owner.close()
  await colleague.close()
})

test('a colleague with the role change edits a group, and cannot share, publish or delete it', async () => {
  await ada.ok('POST', '/api/groups', { name: 'edited', members: ['notes', 'files'] })
  await ada.ok('PUT', '/api/groups/edited/shares/user:cleo', { role: 'change' })
  const tab = await openTab(browser, hub, cleo)
  const { page } = tab
  await tab.open('/groups/ada~edited')
  await page.getByText('Shared with you by ada: change.').waitFor()
  expect(await page.locator('pb-sharing').count()).toBe(0)
  expect(await page.locator('#g-visibility').isDisabled()).toBe(true)
  expect(await page.locator('#g-name').isDisabled()).toBe(true)
  expect(await page.getByRole('button', { name: 'Delete group' }).count()).toBe(0)
  await page.fill('#g-description', 'edited by a colleague')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.waitForFunction(() => document.querySelector('.head .st.warn') === null)
  expect((await ada.ok('GET', '/api/groups/edited')).description).toBe('edited by a colleague')
  expect(await page.locator('main .callout.bad').count()).toBe(0)
  await tab.close()
})

test('a colleague with the role change edits all of a server but its name, and sees it stop', async () => {
  await ada.ok('PUT', '/api/servers/files/shares/user:cleo', { role: 'change' })
  const tab = await openTab(browser, hub, cleo)
  const { page } = tab
  await tab.open('/servers/ada~files?tab=settings')
  await page.getByLabel('Description').fill('edited by a colleague')
  expect(await page.getByLabel('Name', { exact: true }).count()).toBe(0)
  // Before anything is typed that the hub would refuse.
  const note = page.getByRole('note')
  expect(await page.locator('.cm-content').textContent()).not.toContain('"role"')
  expect(await note.textContent()).toContain(
    'Only ada can change the name, the visibility and whose credentials it uses',
  )
  expect(await note.textContent()).toContain('only ada can change what it runs')
  expect(await axe(tab)).toEqual([])
  await page.getByRole('button', { name: 'Save' }).click()
  await until(async () => (await ada.ok('GET', '/api/servers/files')).description === 'edited by a colleague', {
    what: 'the description',
  })
  await page.getByRole('button', { name: 'Stop server' }).waitFor()
  // By the owner: the page of the colleague follows.
  await ada.ok('POST', '/api/servers/files/stop')
  await page.getByRole('button', { name: 'Start server' }).waitFor({ timeout: 15_000 })
  await ada.ok('POST', '/api/servers/files/start')
  await online(ada, ['files'])
  await ada.ok('PUT', '/api/servers/files/shares', { shares: [] })
  await tab.close()
})

/** Distances between the middle of a radio button and that of the first line of its text, in pixels. Runs in the page. */
function offsetsOfBoxes(labels: readonly Element[]): number[] {
  return labels.map(label => {
    const middle = ({ top, bottom }: DOMRect): number => (top + bottom) / 2
    const texts = document.createTreeWalker(label, NodeFilter.SHOW_TEXT)
    const line = document.createRange()
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      if ((text.textContent ?? '').trim() === '') continue
      line.selectNodeContents(text)
      break
    }
    const box = label.querySelector('input')?.getBoundingClientRect()
    return box ? Math.abs(middle(box) - middle(line.getBoundingClientRect())) : Number.NaN
  })
}

test.each(VIEWS)('the pages of sharing and of teams: %s', async (name, view) => {
  const team = `crew ${name.length}`
  const picture = (what: string) =>
    PICTURES
      ? page.screenshot({ path: `${PICTURES}/${what}-${name.replaceAll(', ', '-')}.png`, fullPage: true })
      : undefined
  const check = async (what: string) => {
    await tab.fitsSideways()
    // The colour of a button below the pointer is another one.
    await page.mouse.move(1, 1)
    await picture(what)
    expect(await axe(tab)).toEqual([])
  }
  const tab = await openTab(browser, hub, ada, view)
  const { page } = tab
  await tab.open('/admin/teams')
  await page.locator('.head .btn.pri').click()
  await page.fill('#team-name', team)
  await page.locator('label.chk:has-text("cleo") input').check()
  await check('team')
  await page.locator('wa-drawer .btn.pri').click()
  await page.locator('td .nm').getByText(team).waitFor()
  const source = { provider: 'company', group: 'Engineering' }
  await ada.ok('POST', '/api/admin/teams', { name: `engineers ${name.length}`, source })
  await tab.open('/admin/teams')
  const row = page.locator('tr', { hasText: `engineers ${name.length}` })
  await row.getByText(/Engineering/).waitFor()
  await check('teams')
  const [{ id }] = (await ada.ok('GET', '/api/teams?limit=1000')).items.filter(
    (one: { name: string }) => one.name === `engineers ${name.length}`,
  )
  await tab.open(`/admin/teams?drawer=${id}`)
  await page
    .locator('#team .callout')
    .getByText(/Engineering/)
    .waitFor()
  expect(await page.locator('#team input[type=checkbox]').count()).toBe(0)
  await check('team-of-provider')
  await ada.ok('PUT', '/api/servers/notes/shares/user:cleo', { role: 'see' })
  await tab.open('/servers/ada~notes?tab=access')
  await page.selectOption('#share-kind', 'team')
  await page.selectOption('select#share-name', team)
  await page.locator('.shareform .btn.pri').click()
  await page.locator('.sharing .list li').getByText(team, { exact: true }).waitFor()
  await check('server')
  expect(Math.max(...(await page.locator('pb-server-access label.chk').evaluateAll(offsetsOfBoxes)))).toBeLessThan(2.5)
  await ada.ok('PUT', '/api/groups/daily/shares/user:cleo', { role: 'use' })
  await tab.open('/groups/ada~daily?as=cleo')
  await page.waitForSelector('pb-view-as .names li')
  await page.waitForSelector('.sharing .list li')
  await check('group')
  await tab.close()
  const other = await openTab(browser, hub, cleo, view)
  await other.open('/servers/ada~notes')
  await other.page.waitForSelector('.callout.shared')
  await other.page.waitForSelector('.minis')
  await other.fitsSideways()
  if (PICTURES)
    await other.page.screenshot({ path: `${PICTURES}/reader-${name.replaceAll(', ', '-')}.png`, fullPage: true })
  expect(await axe(other)).toEqual([])
  await other.open('/servers?scope=shared')
  await other.page.waitForSelector('a.nm:has-text("notes")')
  await other.fitsSideways()
  if (PICTURES)
    await other.page.screenshot({ path: `${PICTURES}/list-${name.replaceAll(', ', '-')}.png`, fullPage: true })
  await other.close()
})

test.each(VIEWS)('a link is made, opened by a colleague who signs in, accepted, and ended: %s', async (name, view) => {
  await ada.ok('PUT', '/api/servers/files/shares', { shares: [] })
  const owner = await openTab(browser, hub, ada, view)
  const { page } = owner
  await owner.open('/servers/ada~files?tab=access')
  await page.locator('.sharing .ch a.btn').click()
  await page.waitForSelector('#inv-role')
  await page.mouse.move(1, 1)
  expect(await axe(owner)).toEqual([])
  await owner.fitsSideways()
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/invite-${name.replaceAll(', ', '-')}.png`, fullPage: true })
  await page.locator('.shareform .btn.pri').click()
  const link = (await page.locator('.keytext').textContent()) ?? ''
  expect(link).toMatch(/\/invite#pbi_[\w-]{32}$/)
  const guest = await openTab(browser, hub, undefined, view)
  await guest.page.goto(link)
  await guest.page.fill('#user', 'cleo')
  await guest.page.fill('#password', PASSWORD)
  await guest.page.locator('button.pri').click()
  await guest.page.waitForSelector('pb-invite .btn.pri')
  expect(guest.page.url()).not.toContain('pbi_')
  expect(await guest.page.locator('pb-invite h1').textContent()).toContain('ada')
  await guest.page.mouse.move(1, 1)
  expect(await axe(guest)).toEqual([])
  if (PICTURES)
    await guest.page.screenshot({ path: `${PICTURES}/accept-${name.replaceAll(', ', '-')}.png`, fullPage: true })
  await guest.page.locator('pb-invite .btn.pri').click()
  await guest.page.waitForSelector('pb-invite a[href$="/servers/ada~files"]')
  expect((await ada.ok('GET', '/api/servers/files/shares')).items).toMatchObject([
    { subject: 'user:cleo', role: 'use' },
  ])
  await guest.close()
  await owner.open('/invitations')
  await page.locator('td .btn').first().click()
  await page.locator('wa-dialog .btn.danger').click()
  await page.waitForSelector('.empty')
  await owner.close()
})

test('after ten minutes the console asks for the password, and then shares', async () => {
  await ada.ok('PUT', '/api/servers/files/shares', { shares: [] })
  const tab = await openTab(browser, hub, ada)
  const { page } = tab
  const { token } = await oldSession(hub, ada)
  await page.addInitScript(old => {
    const session = JSON.parse(sessionStorage.getItem('patchbay.session') ?? '{}') as object
    sessionStorage.setItem('patchbay.session', JSON.stringify({ ...session, token: old }))
  }, token)
  await tab.open('/servers/ada~files?tab=access')
  await page.fill('#share-name', 'cleo')
  await page.getByRole('button', { name: 'Share', exact: true }).click()
  await page.getByRole('heading', { name: 'Is it still you?' }).waitFor()
  expect(await axe(tab)).toEqual([])
  expect((await ada.ok('GET', '/api/servers/files/shares')).items).toEqual([])
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.locator('.sharing .list li').getByText('cleo', { exact: true }).waitFor()
  await tab.close()
})
