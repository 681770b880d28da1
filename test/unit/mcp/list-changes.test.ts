import { expect, test } from 'bun:test'
import { ListChanges } from '../../../core/mcp/changes/list-changes.ts'
import type { Notice } from '../../../core/mcp/rpc/notice.ts'
import { OfflineGracePeriod } from '../../../core/mcp/scope/offline-grace.ts'
import { Scope } from '../../../core/mcp/scope/scope.ts'
import { ItemForms } from '../../../core/mcp/scope/selector.ts'
import { type NotificationTarget, Subscribers } from '../../../core/mcp/scope/subscribers.ts'
import { until } from '../../support/wait.ts'
import { catalog, FakeUpstreams, groupRecord, noToolSets, serverRecord, tool, World } from './support.ts'

test('an announced change no longer counts as a difference, and a change of another list still does', async () => {
  const time = serverRecord('time')
  const upstreams = new FakeUpstreams()
  const server = upstreams.add(time.id, catalog({ tools: [tool('run')] }))
  const member = {
    server: time,
    alias: 'time',
    tools: 'all',
    prompts: 'all',
    resources: 'all',
    passedHeaders: [],
  } as const
  const resolved = {
    kind: 'server',
    group: groupRecord('time', []),
    members: [member],
    passthroughHeaders: [],
  } as const
  let aheadMs = 0
  const now = () => performance.now() + aheadMs
  const offlineGrace = new OfflineGracePeriod(upstreams, now)
  const parts = { upstreams, offlineGrace, itemForms: new ItemForms(), toolSets: noToolSets, now }
  const scope = new Scope('key', '/mcp/time', { actor: new World().person('alice') }, resolved, parts)
  expect([...scope.changedLists()]).toEqual([])

  const heard: string[] = []
  const target = { notify: ({ method }: Notice) => void heard.push(method) } as unknown as NotificationTarget
  const changes = new ListChanges(new Subscribers({ of: () => new Set([target]) }), now)
  changes.announce(scope, ['tools'])
  // This change comes while the notice waits: a client that reads the list after the notice sees it.
  server.catalog = catalog({ tools: [tool('run'), tool('walk')], prompts: [{ name: 'greet' }] })
  scope.touch()
  await until(() => heard.length > 0, { what: 'the notice' })
  expect(heard).toEqual(['notifications/tools/list_changed'])
  expect([...scope.changedLists()]).toEqual(['prompts'])

  // A second notice within a second, by another connection to the same server: its list is still the one that was announced.
  changes.announce(scope, ['tools', 'prompts'])
  aheadMs = 2_000
  await until(() => heard.length > 1, { what: 'the next notice' })
  expect(heard.slice(1)).toEqual(['notifications/prompts/list_changed'])
  expect([...scope.changedLists()]).toEqual([])
  changes.dispose()
})
