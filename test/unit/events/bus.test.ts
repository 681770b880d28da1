import { expect, test } from 'bun:test'
import { EventBus } from '../../../core/events/bus.ts'

test('emit() reaches each listener in order though one of them throws', () => {
  const errors: unknown[] = []
  const seen: string[] = []
  const bus = new EventBus(error => errors.push(error))
  bus.on('key.removed', () => seen.push('first'))
  bus.on('key.removed', () => {
    throw new Error('bad listener')
  })
  const stop = bus.on('*', event => seen.push(`any ${event.name} ${event.id}`))
  bus.emit('key.removed', 'owner', { keyId: 'k' })
  expect(seen).toEqual(['first', 'any key.removed 1'])
  expect(errors).toHaveLength(1)
  stop()
  bus.emit('key.removed', 'owner', { keyId: 'k' })
  expect(seen).toEqual(['first', 'any key.removed 1', 'first'])
})

test('wants() says whether building a payload is worth it', () => {
  const bus = new EventBus(() => {})
  expect(bus.wants('tool.called')).toBe(false)
  const stop = bus.on('tool.called', () => {})
  expect(bus.wants('tool.called')).toBe(true)
  stop()
  expect(bus.wants('tool.called')).toBe(false)
})
