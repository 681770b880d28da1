import { expect, test } from 'bun:test'
import { SOURCE_NAMES } from '../../../core/domain/dashboards/sources.ts'
import { parseWidgetQuery } from '../../../core/domain/dashboards/widget-query.ts'

test('all parts of a query, in the order of the documentation', () => {
  const text = `p95_response_time { tool = 'now', server = "ada~time" } by tool over 1d12h step 10m limit 100`
  expect(parseWidgetQuery(text)).toEqual({
    query: expect.objectContaining({
      ...{ name: 'p95_response_time', server: 'ada~time', tool: 'now', by: 'tool' },
      ...{ overMs: 36 * 3_600_000, stepMs: 600_000, limit: 100 },
    }),
  })
  expect(parseWidgetQuery('custom.queue')).toMatchObject({ query: { name: 'custom.queue', limit: 10 } })
})

test('a text that is no query is refused with its column', () => {
  for (const [text, column] of [
    ['request_count}', 14],
    ['request_count{}', 15],
    ['request_count{server!="x"}', 21],
    ['request_count{server=""}', 22],
    ['request_count by user', 18],
    ['request_count over "1h"', 20],
    ['request_count limit 1.5', 21],
    ['request_count limit 5s', 21],
    ['request_count over 1h over 1h', 23],
    ['constructor', 1],
    ['custom.A', 1],
    [`request_count{server="${'x'.repeat(500)}"}`, 513],
  ] as const) {
    const read = parseWidgetQuery(text)
    expect([text, 'error' in read && read.error.startsWith(`Column ${column}:`) ? column : read]).toEqual([
      text,
      column,
    ])
  }
})

test('docs/monitoring.md has every source, and no other', async () => {
  const page = await Bun.file(new URL('../../../docs/monitoring.md', import.meta.url)).text()
  const rows = page
    .slice(page.indexOf('| sources |'), page.indexOf('The settings file may hold dashboards'))
    .split('\n')
  const named = rows.flatMap(row => [...(row.split('|')[1] ?? '').matchAll(/`([\w.]+)`/g)].map(([, name]) => name))
  expect(named.toSorted()).toEqual(SOURCE_NAMES.toSorted())
})
