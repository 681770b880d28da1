import { expect, test } from 'bun:test'
import { z } from 'zod'
import { resourceRoutes } from '../../../core/http/routes/all.ts'
import { World } from './doubles.ts'

const routes = resourceRoutes(new World().deps)

test('resourceRoutes() declares each method of a path once', () => {
  const names = routes.map(route => `${route.method} ${route.path}`)
  expect(names.length).toBe(new Set(names).size)
  expect(names.length).toBeGreaterThan(40)
})

test('resourceRoutes() gives every route a summary, a tag, and an example for each answer with a body', () => {
  for (const route of routes) {
    const name = `${route.method} ${route.path}`
    expect(route.summary.length, name).toBeGreaterThan(8)
    expect(route.tag.length, name).toBeGreaterThan(3)
    for (const [code, spec] of Object.entries(route.responses)) {
      if (code === '204') expect(spec.schema, name).toBeUndefined()
      else expect(spec.schema?.safeParse(spec.example).error, `${name} ${code}`).toBeUndefined()
    }
  }
})

test('resourceRoutes() has a schema for exactly the parameters of each path', () => {
  for (const route of routes) {
    const named = [...route.path.matchAll(/\{(\w+)\}/g)].map(match => match[1])
    const shape = route.params instanceof z.ZodObject ? Object.keys(route.params.shape) : []
    expect(shape.sort(), route.path).toEqual(named.sort() as string[])
  }
})

test('resourceRoutes() declares administration for administrators, and opens no more than health, metrics, /api/public, scripts of pages and the socket of assistants', () => {
  for (const route of routes) {
    const isOfAdmins =
      route.path.startsWith('/api/admin/') || `${route.method} ${route.path}` === 'PUT /api/monitoring/config'
    expect(route.access === 'admin', route.path).toBe(isOfAdmins)
    expect(route.access === 'public', route.path).toBe(
      ['/health', '/metrics', '/api/assistant/ws', '/plugins/{plugin}/{digest}/{file}'].includes(route.path) ||
        route.path.startsWith('/api/public/'),
    )
  }
})

test('resourceRoutes() can be written as JSON Schema, bodies with their fields and examples', () => {
  for (const route of routes) {
    const schemas = [route.params, route.query, route.body, ...Object.values(route.responses).map(spec => spec.schema)]
    for (const schema of schemas)
      if (schema)
        expect(() => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }), route.path).not.toThrow()
  }
  const create = routes.find(route => route.method === 'POST' && route.path === '/api/servers')
  const shown = z.toJSONSchema(create?.body as z.ZodType, { io: 'input' })
  expect(shown.properties).toHaveProperty('timeout')
  expect(shown).toHaveProperty('x-transport-fields', true)
  expect(shown.examples).toEqual([{ name: 'time', command: 'uvx', args: ['mcp-server-time'] }])
  expect(shown.additionalProperties).not.toBe(false)
})
