import { expect, test } from 'bun:test'
import { LIMITS } from '../../../core/config/limits.ts'
import { TaskTable } from '../../../core/mcp/call/tasks/task-table.ts'

const PLACE = { userId: 'ann', serverId: 's', connection: undefined }
const working = (taskId: string, ttlMs?: number) => ({
  taskId,
  status: 'working',
  ...(ttlMs === undefined ? {} : { ttlMs }),
})

test('find() knows a task at its place alone, until its server may have forgotten it', () => {
  let now = 0
  const table = new TaskTable(() => now)
  const short = table.add(PLACE, 'session', working('t-1', 1_000))
  const long = table.add(PLACE, 'session', working('t-2'))
  expect(table.find(short.id, PLACE)).toBe(short)
  expect(table.at(PLACE)).toEqual([short, long])
  const others = [{ userId: 'bob' }, { serverId: 'other' }, { connection: 'session' }]
  for (const other of others) expect(table.find(short.id, { ...PLACE, ...other })).toBeUndefined()
  for (const name of ['t-1', undefined, 1, {}]) expect(table.find(name, PLACE)).toBeUndefined()
  now = 1_000
  expect(table.find(short.id, PLACE)).toBeUndefined()
  expect(table.at(PLACE)).toEqual([long])
  now = LIMITS.taskMs
  table.sweep()
  expect([table.countOf('ann'), table.statusChanged('s', undefined, working('t-2'))]).toEqual([0, undefined])
})

test('reserve() counts what is being made, and lets tasks that are over give way', () => {
  const table = new TaskTable(() => 0)
  const release = table.reserve('ann')
  const tasks = Array.from({ length: LIMITS.tasksPerUser - 1 }, (_, n) => table.add(PLACE, 'x', working(`t-${n}`)))
  const refused = expect.objectContaining({ code: 'quota_calls', hint: expect.stringContaining('cancel') })
  expect(() => table.reserve('ann')).toThrow(refused)
  table.reserve('bob')()
  table.statusChanged('s', undefined, { taskId: 't-3', status: 'completed' })
  table.reserve('ann')()
  expect(table.find(tasks[3]?.id, PLACE)).toBeUndefined()
  release()
  expect(table.countOf('ann')).toBe(LIMITS.tasksPerUser - 2)
})

test('told() names a task as its client knows it, and tasks end with their connection', () => {
  const table = new TaskTable(() => 0)
  const task = table.add({ ...PLACE, connection: 'one' }, 'session', working('t-1'))
  const said = { taskId: 't-1', status: 'failed', statusMessage: 'no' }
  expect(table.statusChanged('s', 'one', said)).toEqual({ session: 'session', params: { ...said, taskId: task.id } })
  for (const [server, connection] of [
    ['s', undefined],
    ['s', 'two'],
    ['other', 'one'],
  ] as const)
    expect(table.statusChanged(server, connection, said)).toBeUndefined()
  table.dropConnection('one')
  expect(table.statusChanged('s', 'one', said)).toBeUndefined()
  expect(table.countOf('ann')).toBe(0)
})

test('follow() hears once that a task is over, also where its client or its connection is gone, and of its first result', () => {
  let now = 0
  const table = new TaskTable(() => now)
  const heard: unknown[] = []
  const made = (upstreamId: string, connection?: string) => {
    const task = table.add({ ...PLACE, connection }, 'session', working(upstreamId))
    task.follow(event => heard.push([upstreamId, event.kind]))
    return task
  }
  const polled = made('polled')
  const silent = made('silent')
  made('lost', 'session')
  table.dropConnection('session')
  expect(heard.splice(0)).toEqual([['lost', 'over']])
  now = LIMITS.taskSilenceMs - 1
  table.find(polled.id, PLACE)
  now += 1
  table.sweep()
  table.sweep()
  expect(heard.splice(0)).toEqual([['silent', 'over']])
  expect([silent.over, table.find(silent.id, PLACE)]).toEqual([false, silent])
  for (const task of [polled, silent]) {
    task.noted({ taskId: '', status: 'completed' })
    task.resulted(false, 10)
    task.resulted(false, 10)
  }
  expect(heard.splice(0)).toEqual([
    ['polled', 'over'],
    ['polled', 'result'],
    ['silent', 'result'],
  ])
  made('unheard').resulted(true, 0)
  expect(heard.splice(0)).toEqual([
    ['unheard', 'over'],
    ['unheard', 'result'],
  ])
  // A connection that is lost after the end, and a description of a task that is over, are no news.
  made('ended', 'session').end()
  table.statusChanged('s', 'session', { taskId: 'ended', status: 'completed' })
  table.dropConnection('session')
  expect(heard.splice(0)).toEqual([['ended', 'over']])
  made('done').end()
  table.add(PLACE, 'session', { taskId: 'x', status: 'failed' }).follow(event => heard.push(event))
  expect(heard).toEqual([['done', 'over'], { kind: 'over' }])
})
