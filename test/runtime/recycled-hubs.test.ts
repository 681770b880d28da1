/** The hubs of tests that share a process, one after the other. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { HubDidNotStart, startHub, stdioFixture } from '../support/hub.ts'
import { RECYCLED } from '../support/recycled.ts'

const before = process.env[RECYCLED]
beforeAll(() => {
  process.env[RECYCLED] = '1'
})
afterAll(() => {
  if (before === undefined) delete process.env[RECYCLED]
  else process.env[RECYCLED] = before
})

test('a hub takes the process of one that has stopped, and nothing else of it', async () => {
  const first = await startHub({
    settings: { mcpServers: { one: { url: 'https://mcp.example/mcp', enabled: false } } },
  })
  const admin = await first.setup()
  const [firstLog, beside] = [first.log(), await startHub()]
  expect(beside.pid).not.toBe(first.pid)
  expect(await first.stop()).toBe(0)
  const next = await startHub()
  expect([next.pid, next.log().includes(first.url)]).toEqual([first.pid, false])
  expect(first.log()).toStartWith(firstLog)
  const own = await next.setup()
  expect((await own.ok('GET', '/api/servers')).items).toEqual([])
  expect((await own.request('GET', '/api/servers', undefined, { authorization: `Bearer ${admin.token}` })).status).toBe(
    401,
  )
  await next.kill9()
  expect(await beside.stop()).toBe(0)
  const last = await startHub()
  expect(last.pid).toBe(beside.pid)
  await last.stop()
  await expect(next.exited()).resolves.toBe(137)
}, 60_000)

/** Page faults of the ended children of a process: any further child adds some. */
const faultsOfChildren = (pid: number): number =>
  Number(
    readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')[8],
  )

test('the sandbox is probed once for the hubs of a process, and its level holds for each', async () => {
  const first = await startHub()
  const { sandbox } = (await (await first.setup()).ok('GET', '/api/public/info')).features
  const { pid } = first
  await first.stop()
  const before = faultsOfChildren(pid)
  const second = await startHub()
  expect(second.pid).toBe(pid)
  expect((await (await second.setup()).ok('GET', '/api/public/info')).features.sandbox).toBe(sandbox)
  // On a machine without a sandbox each hub probes again.
  if (sandbox) expect(faultsOfChildren(pid)).toBe(before)
  const user = await second.user('ada')
  const { status } = await user.request('POST', '/api/servers', { name: 'echo', ...stdioFixture('echo') })
  expect(status).toBe(sandbox ? 201 : 403)
  await second.stop()
}, 60_000)

test('a start that is refused says so with its code, as in a process of its own', async () => {
  const own = await startHub({ settings: '{', ownProcess: true }).catch(error => error)
  const recycled = await startHub({ settings: '{' }).catch(error => error)
  expect(own).toBeInstanceOf(HubDidNotStart)
  const said = ({ exitCode, log }: HubDidNotStart) => [exitCode, log.replaceAll(/\/\S+/g, 'PATH')]
  expect(said(recycled)).toEqual(said(own))
}, 60_000)
