/** A person decides about calls at the console, and sets the rules and quotas of servers, groups and keys there. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { sharedFixture } from '../mcp/shared-fixture.ts'
import { extent } from '../support/extent.ts'
import type { Client, Hub } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { axe, openBrowser, openTab, PHONE, type View } from './support/console.ts'

setDefaultTimeout(120_000)

/** A folder for pictures of the page, if they are wanted. */
const PICTURES = process.env.APPROVAL_PICTURES
/** Two share every theme, language and width between them. */
const VIEWS = extent<readonly (readonly [string, View])[]>(
  [
    ['wide', {}],
    ['chinese, dark, phone', { ...PHONE, theme: 'dark', language: 'zh' }],
  ],
  [
    ['wide', {}],
    ['dark', { theme: 'dark' }],
    ['chinese', { language: 'zh' }],
    ['phone', PHONE],
  ],
)

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  const mcpServers = { bank: sharedFixture('counting') }
  ;({ hub, admin } = await startOnline({ settings: { mcpServers } }))
  // biome-ignore lint/suspicious/noThenProperty: the word of rules
  const rules = [{ when: { tools: ['pay'] }, then: 'ask', remember: '1h' }]
  await admin.ok('PUT', '/api/servers/bank/approvals', { rules })
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

const pay = (amount: number) =>
  admin.request('POST', '/api/servers/bank/tools/pay/call', { arguments: { amount, token: 'canary-of-a-card' } })

test('what waits is shown at once, and one click lets one call pass', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await page.goto(`${hub.url}/approvals`)
  await page.getByText('Nothing waits for you').waitFor()
  const first = pay(120)
  await page.getByRole('heading', { name: 'pay', exact: true }).waitFor()
  expect(await page.getByText('120').count()).toBeGreaterThan(0)
  expect(await page.content()).not.toContain('canary-of-a-card')
  expect(await axe(tab)).toEqual([])
  await page.getByRole('button', { name: 'Allow once: pay' }).click()
  expect((await first).status).toBe(200)
  await page.getByText('allowed by admin').waitFor()
  const second = pay(130)
  await page.getByRole('button', { name: 'Deny pay' }).click()
  expect((await second).json.code).toBe('approval_denied')
  await page.getByText('denied by admin').waitFor()
  expect(await axe(tab)).toEqual([])
  await tab.close()
})

test('a request that waited while the plugin stopped says so', async () => {
  const call = pay(140)
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.go('/approvals', 'pb-page-approvals .btn.pri')
  for (const enabled of [false, true]) await admin.ok('PATCH', '/api/admin/plugins/approvals', { enabled })
  expect((await call).json.code).toBe('approval_denied')
  await tab.go('/approvals', 'pb-page-approvals table')
  await page.getByText('denied, since the hub was restarted').first().waitFor()
  expect(await axe(tab)).toEqual([])
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/restart.png` })
  await tab.close()
})

test.each(VIEWS)(
  'a caller without the server reads the group, and that its access has ended: %s',
  async (name, view) => {
    const user = `una${VIEWS.findIndex(([each]) => each === name)}`
    const una = await hub.user(user)
    const tools = [{ name: 'pay', as: 'spend' }]
    await admin.ok('POST', '/api/groups', { name: user, members: [{ server: 'bank', tools }] })
    await admin.ok('PUT', `/api/groups/${user}/shares/user:${user}`, { role: 'use' })
    const call = una.request('POST', `/api/groups/admin~${user}/tools/spend`, { amount: 3 })
    const tab = await openTab(browser, hub, una, view)
    const { page } = tab
    await tab.go('/approvals', 'pb-page-approvals table')
    await page.locator('pb-page-approvals td a', { hasText: 'spend' }).click()
    await page.locator('pb-page-approvals dl', { hasText: `admin / ${user}` }).waitFor()
    expect(await page.locator('pb-page-approvals').textContent()).not.toMatch(/bank|[0-9a-f]{8}-[0-9a-f]{4}/)
    expect(await axe(tab)).toEqual([])
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/group-${name}.png`, fullPage: true })
    await admin.ok('DELETE', `/api/groups/${user}/shares/user:${user}`)
    await page.getByText(view.language === 'zh' ? '访问权限已终止' : 'the access to the tool ended').waitFor()
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/ended-${name}.png`, fullPage: true })
    expect((await call).status).not.toBe(200)
    await tab.close()
  },
)

test.each(VIEWS)('the link of a call leads to it: %s', async (name, view) => {
  const call = pay(1_000 + VIEWS.findIndex(([each]) => each === name))
  const tab = await openTab(browser, hub, admin, view)
  const { page } = tab
  await page.goto(`${hub.url}/approvals`)
  await page.locator('pb-page-approvals .btn.pri').first().waitFor()
  const { items } = await admin.ok('GET', '/api/approvals?state=pending')
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/approvals-${name}.png`, fullPage: true })
  await page.goto(`${hub.url}/approvals/${items[0].id}`)
  await page.locator('pb-page-approvals .btn.bad').waitFor()
  expect(await axe(tab)).toEqual([])
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/approval-${name}.png`, fullPage: true })
  await page.locator('pb-page-approvals .btn.bad').click()
  expect((await call).json.code).toBe('approval_denied')
  await tab.close()
})

test.each(VIEWS)(
  'the rail counts what waits, on every page, and reads it with events alone: %s',
  async (name, view) => {
    const words = view.language === 'zh' ? '1 项等待您处理' : '1 waiting for you'
    const isPhone = view.touch === true
    const tab = await openTab(browser, hub, admin, view)
    const { page } = tab
    let reads = 0
    page.on('request', request => {
      if (request.url().includes('/api/approvals')) reads += 1
    })
    await tab.go('/servers', 'pb-page-servers')
    const place = page.locator(isPhone ? '.tabbar button' : '.rail a[href$="/approvals"]')
    const call = pay(2_000 + VIEWS.findIndex(([each]) => each === name))
    await place.locator('.n.due').waitFor()
    expect(await place.getAttribute('aria-label')).toBeNull()
    await page.getByRole(isPhone ? 'button' : 'link', { name: words }).waitFor()
    expect(await axe(tab)).toEqual([])
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/rail-${name}.png` })
    if (isPhone) {
      await place.click()
      await page.getByRole('link', { name: words }).waitFor()
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/rail-more-${name}.png` })
      await page.locator('.shade').click({ position: { x: 20, y: 20 } })
    } else {
      await page.locator('.rail .foot button').click()
      await page.locator('.app.narrow').waitFor()
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/rail-narrow-${name}.png` })
    }
    const before = reads
    await page.evaluate(() => {
      history.pushState(null, '', location.pathname.replace(/[^/]*$/, 'groups'))
      dispatchEvent(new PopStateEvent('popstate'))
    })
    await page.locator('pb-page-groups').waitFor()
    expect(reads).toBe(before)
    const { items } = await admin.ok('GET', '/api/approvals?state=pending')
    await admin.ok('POST', `/api/approvals/${items[0].id}`, { decision: 'deny' })
    expect((await call).json.code).toBe('approval_denied')
    await place.locator('.n.due').waitFor({ state: 'detached' })
    await tab.close()
  },
)

test.each(VIEWS)('the page of usage shows quotas and calls: %s', async (name, view) => {
  await admin.ok('PUT', '/api/admin/users/admin/quota', { quota: { perDay: 1_000, atOnce: 20 } })
  await admin.ok('POST', '/api/servers/bank/tools/paid/call', {})
  const tab = await openTab(browser, hub, admin, view)
  const { page } = tab
  await page.goto(`${hub.url}/usage?by=tool`)
  await page.getByText('admin / bank · paid').first().waitFor()
  await page.locator('pb-page-usage table').nth(1).waitFor()
  expect(await page.locator('pb-page-usage table').count()).toBe(2)
  expect(await axe(tab)).toEqual([])
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/usage-${name}.png`, fullPage: true })
  await tab.close()
})

test('an owner makes, orders, changes and deletes the rules of a server', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  const stored = async () => (await admin.ok('GET', '/api/servers/bank/approvals')).rules
  await tab.go('/servers/admin~bank?tab=rules', '#approval-rules-h')
  await page.getByText('If the tool is pay, the call waits for the owner of the server at the console').waitFor()
  await page.getByRole('button', { name: 'New approval rule' }).click()
  await page.locator('#approval-tools').fill('pay, paid')
  await page.getByRole('button', { name: 'Add a condition' }).click()
  await page.getByLabel('Path of argument 1').fill('amount')
  await page.getByLabel('Comparison 1').selectOption('gt')
  await page.getByLabel('Value 1').fill('a lot')
  await page.locator('input[name=who][value=caller]').check()
  await page.locator('#approval-timeout').fill('ten minutes')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('#approval-timeout[aria-invalid=true]').waitFor()
  expect(await page.locator('.argrow [aria-invalid=true]').count()).toBeGreaterThan(0)
  expect(await axe(tab)).toEqual([])
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/rule-errors.png` })
  expect(await stored()).toHaveLength(1)
  await page.getByLabel('Path of argument 1').fill('/amount')
  await page.getByLabel('Value 1').fill('500')
  await page.locator('#approval-timeout').fill('2m')
  await page
    .getByText('If the tool is pay or paid and /amount is greater than 500, the call waits for its user')
    .waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Move rule 2 up' }).click()
  await page.locator('ol.list > li').first().getByText('/amount is greater than 500').waitFor()
  await page.locator('[aria-label="Move rule 1 down"]:focus').waitFor()
  const asked = {
    // biome-ignore lint/suspicious/noThenProperty: the word of rules
    ...{ then: 'ask', who: 'caller', by: ['console'], timeout: '2m' },
    when: { tools: ['pay', 'paid'], arguments: { '/amount': { gt: 500 } } },
  }
  expect((await stored())[0]).toEqual(asked)
  await page.getByRole('button', { name: 'Edit rule 1' }).click()
  await page.locator('input[name=then][value=deny]').check()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('ol.list').getByText('the call is denied').waitFor()
  expect((await pay(501)).json.code).toBe('approval_denied')
  await page.getByRole('button', { name: 'Delete rule 1' }).click()
  await page.getByRole('button', { name: 'Delete rule', exact: true }).click()
  await page.getByRole('button', { name: 'Delete rule 2' }).waitFor({ state: 'detached' })
  expect(await stored()).toHaveLength(1)
  await tab.close()
})

test('an owner names a team in a form, and its member decides', async () => {
  const tim = await hub.user('tim')
  await admin.ok('POST', '/api/admin/teams', { name: 'Night shift', members: ['tim'] })
  const before = (await admin.ok('GET', '/api/servers/bank/approvals')).rules
  for (const [name, view] of VIEWS) {
    const tab = await openTab(browser, hub, admin, view)
    const { page } = tab
    await tab.go('/servers/admin~bank?tab=rules', 'ol.list')
    await page.locator('pb-approval-rules .ch button').click()
    await page.locator('#approval-tools').fill('pay')
    await page.locator('input[name=who][value=team]').check()
    await page.locator('#approval-team').waitFor()
    if (name === 'wide') {
      await page.getByRole('button', { name: 'Save' }).click()
      await page.locator('#approval-team[aria-invalid=true]').waitFor()
    }
    await page.locator('#approval-team').selectOption('Night shift')
    await page.locator('pb-approval-rule-form fieldset').last().locator('input[type=checkbox]').check()
    expect(await axe(tab)).toEqual([])
    await tab.fitsSideways('asPhone')
    if (PICTURES) {
      await page.setViewportSize({ width: view.width ?? 1280, height: 1900 })
      await page.screenshot({ path: `${PICTURES}/team-${name}.png` })
    }
    if (name === 'wide') {
      await page.getByText('the call waits for the team Night shift at the console').waitFor()
      await page.getByRole('button', { name: 'Save' }).click()
      await page.locator('ol.list > li').getByText('a message brings the link').waitFor()
      if (PICTURES) await page.screenshot({ path: `${PICTURES}/team-rules.png` })
    }
    await tab.close()
  }
  const rules = (await admin.ok('GET', '/api/servers/bank/approvals')).rules
  const made = rules.at(-1)
  expect([made.who, made.by]).toEqual(['team:Night shift', ['console', 'chat']])
  await admin.ok('PUT', '/api/servers/bank/approvals', { rules: [made] })
  const call = pay(777)
  const tab = await openTab(browser, hub, tim)
  await tab.go('/approvals', 'pb-page-approvals .btn.pri')
  await tab.page.getByText('Decided by the team').waitFor()
  await tab.page.getByRole('button', { name: 'Allow once: pay' }).click()
  expect((await call).status).toBe(200)
  await tab.page.getByText('allowed by tim').waitFor()
  await tab.close()
  await admin.ok('PUT', '/api/servers/bank/approvals', { rules: before })
})

test('rules that another user has changed meanwhile are not written over', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.go('/servers/admin~bank?tab=rules', 'ol.list')
  await page.getByRole('button', { name: 'Edit rule 1' }).click()
  await page.locator('#approval-remember').fill('5m')
  // biome-ignore lint/suspicious/noThenProperty: the word of rules
  const rules = [{ when: { tools: ['pay'] }, then: 'ask', remember: '2h' }]
  const theirs = await admin.ok('PUT', '/api/servers/bank/approvals', { rules })
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Another user has changed these rules meanwhile').waitFor()
  expect(await admin.ok('GET', '/api/servers/bank/approvals')).toEqual(theirs)
  await tab.close()
})

test('an owner sets quotas of a server, a tool and a key', async () => {
  const { id } = await admin.ok('POST', '/api/keys', { label: 'script', scopes: ['mcp'] })
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.go('/servers/admin~bank?tab=rules', '#quotas-h')
  await page.getByRole('button', { name: 'Limit all calls' }).click()
  await page.locator('#quota-perMinute').fill('1.5')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('#quota-perMinute[aria-invalid=true]').waitFor()
  await page.locator('#quota-perMinute').fill('600')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('600 in a minute').waitFor()
  await admin.ok('PATCH', '/api/servers/bank/tools/paid', { name: 'paid_so_far' })
  await page.getByRole('button', { name: 'Quota of a tool' }).click()
  await page.locator('#quota-tool').selectOption({ label: 'paid_so_far (paid)' })
  await page.locator('#quota-perDay').fill('0')
  expect(await axe(tab)).toEqual([])
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('0 in a day').waitFor()
  expect((await admin.request('POST', '/api/servers/bank/tools/paid/call', {})).json.code).toBe('quota_day')
  await page.getByRole('button', { name: 'Remove the quota of paid' }).click()
  await page.getByRole('button', { name: 'Remove quota' }).click()
  await page.getByText('0 in a day').waitFor({ state: 'detached' })
  expect((await admin.request('POST', '/api/servers/bank/tools/paid/call', {})).status).toBe(200)
  await admin.ok('PATCH', '/api/servers/bank/tools/paid', { name: null })
  await tab.go('/keys', 'td .nm')
  await page.getByRole('button', { name: 'Quota of script' }).click()
  await page.locator('#key-quota-atOnce').fill('3')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The quota of script is saved').waitFor()
  expect((await admin.ok('GET', `/api/keys/${id}/quota`)).quota).toEqual({ atOnce: 3 })
  await tab.close()
})

test('a colleague who may change the settings of a server has no form for its rules', async () => {
  const bob = await hub.user('bob')
  await admin.ok('POST', '/api/servers', { name: 'shared', enabled: false, command: 'true' })
  await admin.ok('PUT', '/api/servers/shared/shares', { shares: [{ subject: 'user:bob', role: 'change' }] })
  const tab = await openTab(browser, hub, bob)
  await tab.go('/servers/admin~shared?tab=rules', '.tabs')
  expect(await tab.page.locator('.tabs a', { hasText: 'Settings' }).count()).toBe(1)
  expect(await tab.page.locator('.tabs a', { hasText: 'Rules' }).count()).toBe(0)
  expect(await tab.page.locator('pb-approval-rules').count()).toBe(0)
  await tab.close()
})

test.each(VIEWS)('rules and quotas of a server and a group fit: %s', async (name, view) => {
  const rules = [
    // biome-ignore-start lint/suspicious/noThenProperty: the word of rules
    { when: { tools: ['pay'] }, then: 'ask', remember: '1h' },
    { when: { readOnly: true, clients: ['Claude*'] }, then: 'allow' },
    { when: { destructive: true, arguments: { '/amount': { gt: 100, lte: 5000 } } }, then: 'deny' },
    // biome-ignore-end lint/suspicious/noThenProperty: the word of rules
  ]
  if (name === 'wide') await admin.ok('POST', '/api/groups', { name: 'money', members: [{ server: 'bank' }] })
  for (const path of ['servers/bank', 'groups/money']) {
    await admin.ok('PUT', `/api/${path}/approvals`, { rules })
    await admin.ok('PUT', `/api/${path}/quota`, { quota: { perMinute: 600, resultTokensPerDay: 1_000_000 } })
  }
  const tab = await openTab(browser, hub, admin, view)
  const { page } = tab
  for (const [part, path] of [
    ['server', '/servers/admin~bank?tab=rules'],
    ['group', '/groups/money'],
  ] as const) {
    await tab.go(path, 'ol.list')
    await page.locator('pb-quotas ul.list').waitFor()
    expect(await axe(tab)).toEqual([])
    await tab.fitsSideways('asPhone')
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/rules-${part}-${name}.png`, fullPage: true })
  }
  await page.locator('ol.list > li').last().getByRole('button').nth(2).click()
  await page.locator('#approval-tools').waitFor()
  expect(await axe(tab)).toEqual([])
  await tab.fitsSideways('asPhone')
  if (PICTURES) {
    await page.setViewportSize({ width: view.width ?? 1280, height: 1900 })
    await page.screenshot({ path: `${PICTURES}/rule-form-${name}.png` })
  }
  await tab.close()
})
