import { expect, test } from 'bun:test'
import { definePlugin } from '../../../core/contract/plugin.ts'
import { EventBus } from '../../../core/events/bus.ts'
import { pluginHost } from '../../support/plugin-host.ts'

test('a plugin listens to events whose names and payloads are typed, and never to those that stay in core', async () => {
  const heard: string[] = []
  const everything: string[] = []
  const listener = definePlugin({
    name: 'listener',
    contract: 1,
    setup(context) {
      context.events.on('server.created', ({ name, data }) => heard.push(`${name} ${data.serverId} ${data.name}`))
      context.events.on('*', event => {
        everything.push(event.name)
        if (event.name === 'server.updated') heard.push(`${event.name} ${event.data.changed.join()}`)
      })
      // @ts-expect-error: no event has this name
      context.events.on('server.creatd', () => undefined)
      // @ts-expect-error: the payload has no such member
      context.events.on('server.removed', event => event.data.revision)
      // @ts-expect-error: an event that stays in core
      context.events.on('upstream.connected', () => heard.push('internal'))
      return undefined
    },
  })
  const bus = new EventBus(error => {
    throw error
  })
  const host = pluginHost({ bundled: [listener], folder: import.meta.dir, bus })
  await host.start()
  bus.emit('server.created', 'u1', { serverId: 's1', name: 'one' })
  bus.emit('server.updated', 'u1', { serverId: 's1', name: 'one', revision: 2, changed: ['timeout'] })
  bus.emit('upstream.connected', 'u1', { serverId: 's1', again: false }, 'internal')
  await host.stop()
  bus.emit('server.created', 'u1', { serverId: 's2', name: 'two' })
  expect(heard).toEqual(['server.created s1 one', 'server.updated timeout'])
  expect(everything).toEqual(['plugin.changed', 'server.created', 'server.updated'])
})

test('a plugin emits the events of its definition alone', async () => {
  let thrown: unknown
  const speaker = definePlugin({
    name: 'speaker',
    contract: 1,
    setup({ events }) {
      try {
        events.emit('server.created', 'u1', { serverId: 's1', name: 'one' })
      } catch (error) {
        thrown = error
      }
      return undefined
    },
  })
  const host = pluginHost({ bundled: [speaker], folder: import.meta.dir })
  await host.start()
  await host.stop()
  expect(String(thrown)).toContain('has no event "server.created"')
})
