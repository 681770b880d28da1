/** The hubs of tests that share a process, one after the other. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { HubDidNotStart, startHub } from '../support/hub.ts'
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

test('a start that is refused says so with its code, as in a process of its own', async () => {
  const own = await startHub({ settings: '{', ownProcess: true }).catch(error => error)
  const recycled = await startHub({ settings: '{' }).catch(error => error)
  expect(own).toBeInstanceOf(HubDidNotStart)
  const said = ({ exitCode, log }: HubDidNotStart) => [exitCode, log.replaceAll(/\/\S+/g, 'PATH')]
  expect(said(recycled)).toEqual(said(own))
}, 60_000)
