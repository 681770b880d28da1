import { afterAll, beforeAll, setDefaultTimeout } from 'bun:test'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import {
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Client } from '../support/client.ts'
import { type Hub, LOOPBACK } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { sharedFixture } from './shared-fixture.ts'

/** A resource that both servers of the group `pair` have. */
export const SHARED = 'test://shared'
export const LOGGING = '{"logging":{}}'

/** Two servers with many names in common, and a third with tools only; `pair` has the first two, `alone` the second. */
const SERVERS = {
  one: sharedFixture('varied', {
    NAME: 'one',
    PROMPTS: '["hello","only_one"]',
    RESOURCES: `["${SHARED}","one://a","one://hidden"]`,
    TEMPLATES: '["one://item/{id}"]',
    CAPABILITIES: '{"logging":{},"completions":{}}',
    NAMES: '["weather.get","secret"]',
  }),
  two: sharedFixture('varied', {
    NAME: 'two',
    PROMPTS: '["hello"]',
    RESOURCES: `["${SHARED}"]`,
    CAPABILITIES: LOGGING,
  }),
  bare: sharedFixture('varied', { NAME: 'bare' }),
}
const GROUPS = [
  { name: 'pair', servers: ['one', 'two'] },
  { name: 'alone', servers: ['two'] },
]

/** The hub of one file of tests and its administrator, from the first test on. */
export interface Groups {
  hub: Hub
  admin: Client
}

/**
 * Starts a hub with the servers `one`, `two` and `bare` and the groups `pair` and `alone`, besides `more` servers, before the
 * tests of a file, all online; it ends after them.
 */
export function useGroups(more: Readonly<Record<string, object>> = {}): Groups {
  const groups = {} as Groups
  // Waits must end before the test's time limit, and name their condition: a test that runs out of time takes the hub with
  // it.
  setDefaultTimeout(20_000)
  beforeAll(async () => {
    const settings = { mcpServers: { ...SERVERS, ...more }, groups: GROUPS }
    Object.assign(groups, await startOnline({ env: LOOPBACK, settings }))
  }, 120_000)
  afterAll(async () => {
    await groups.hub?.stop()
  }, 120_000)
  return groups
}

export type Kind = 'tools' | 'prompts' | 'resources'

/** A client that counts the list changes it receives. */
export async function listening(
  who: Client,
  path: string,
): Promise<{ client: McpClient; heard: Record<Kind, number> }> {
  const heard = { tools: 0, prompts: 0, resources: 0 }
  const client = await who.mcp(path, {
    prepare: one => {
      const hear = (kind: Kind) => () => {
        heard[kind] += 1
      }
      one.setNotificationHandler(ToolListChangedNotificationSchema, hear('tools'))
      one.setNotificationHandler(PromptListChangedNotificationSchema, hear('prompts'))
      one.setNotificationHandler(ResourceListChangedNotificationSchema, hear('resources'))
    },
  })
  return { client, heard }
}

/** The messages that a server has received so far, asked without a session. */
export async function seenBy(
  who: Client,
  server: string,
): Promise<readonly { readonly method: string; readonly params?: { readonly level?: string } }[]> {
  const { result } = await who.ok('POST', `/api/servers/${server}/tools/seen/call`, {})
  return JSON.parse(result.content[0].text)
}

/** The methods of what a server has received. */
export async function methodsOf(who: Client, server: string): Promise<string[]> {
  return (await seenBy(who, server)).map(({ method }) => method)
}
