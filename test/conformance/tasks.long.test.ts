import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { fixture } from '../support/fixtures.ts'
import { LOOPBACK, startHub } from '../support/hub.ts'
import { type Program, startProgram } from '../support/program.ts'
import { online } from '../support/servers.ts'
import { excerpt, runServerScenario, taskScenarios } from './suite.ts'

/** The number of checks that a scenario has through the hub, and of those that fail. */
const CHECKS: Readonly<Record<string, readonly [passed: number, failed: number]>> = {
  'tasks-lifecycle': [9, 0],
  'tasks-capability-negotiation': [5, 0],
  'tasks-wire-fields': [4, 0],
  'tasks-request-state-removal': [3, 0],
  'tasks-mrtr-input': [4, 0],
  'tasks-request-headers': [5, 0],
  'tasks-dispatch-and-envelope': [9, 0],
  // The suite has no check in it yet.
  'tasks-status-notifications': [0, 0],
  // It wants a client without tasks refused. The hub runs the task for that client.
  'tasks-required-task-error': [1, 1],
  'tasks-mrtr-composition': [2, 0],
}

const started: { stop(): Promise<unknown> }[] = []
let proxy: Program

beforeAll(async () => {
  const tasks = await startProgram(fixture('extension-tasks'))
  started.push(tasks)
  const mcpServers = { tasks: { type: 'streamable-http', url: tasks.url } }
  const hub = await startHub({ env: LOOPBACK, settings: { mcpServers } })
  started.push(hub)
  const admin = await hub.setup()
  await online(admin, ['tasks'])
  const args = ['0', new URL(hub.url).port, await admin.mcpKey()]
  proxy = await startProgram(join(import.meta.dir, '../support/auth-proxy.ts'), { args })
  started.push(proxy)
}, 300_000)

afterAll(async () => {
  for (const one of started.splice(0).reverse()) await one.stop()
}, 120_000)

test('these are the scenarios of the suite', () => {
  expect(taskScenarios().toSorted()).toEqual(Object.keys(CHECKS).toSorted())
})

test.each(Object.keys(CHECKS))(
  'a server with the tasks extension passes through the hub: %s',
  async scenario => {
    const run = await runServerScenario(`${proxy.url.replace('127.0.0.1', 'localhost')}/mcp/tasks`, scenario)
    const { passed, failed } = run.scenarios.get(scenario) ?? {}
    const [wanted, known] = CHECKS[scenario]!
    if (passed !== wanted || failed !== known) throw new Error(`${passed} ${failed} ${excerpt(run, scenario)}`)
  },
  120_000,
)
