// The last lines of `bun test`, from which the sum of all families is made.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { testsTouchedBy } from '../support/changed.ts'
import { countTests, countWhole, failuresOf, withoutUnsteady } from '../support/count.ts'
import { ROOT } from '../support/hub.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'

let folder = ''

beforeAll(async () => {
  folder = await makeTemp('runner')
})

afterAll(() => removeTemp(folder))

async function outputOf(name: string, text: string): Promise<{ output: string; code: number }> {
  await writeFile(join(folder, `${name}.test.ts`), `import { expect, test } from 'bun:test'\n${text}`)
  const child = Bun.spawn([process.execPath, 'test', `./${name}.test.ts`], {
    cwd: folder,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { output: stdout + stderr, code }
}

async function counted(name: string, text: string): Promise<{ passed: number; failed: number }> {
  const { output, code } = await outputOf(name, text)
  const { passed, failed } = countTests(output, code)
  return { passed, failed }
}

const PASSING = `test('a', () => {})\ntest('b', () => {})\n`

test('tests that pass and fail are counted', async () => {
  expect(await counted('passing', PASSING)).toEqual({ passed: 2, failed: 0 })
  expect(await counted('failing', `${PASSING}test('c', () => { expect(1).toBe(2) })`)).toEqual({ passed: 2, failed: 1 })
})

test('an error between tests, a file that does not load, and a run without a test are failures', async () => {
  const between = `${PASSING}setTimeout(() => { throw new Error('as told') }, 5)\ntest('c', () => Bun.sleep(100))`
  expect((await counted('between', between)).failed).toBeGreaterThan(0)
  expect((await counted('broken', 'import "./missing.ts"')).failed).toBeGreaterThan(0)
  expect(await counted('none', '')).toEqual({ passed: 0, failed: 1 })
  expect(countTests(' 3 pass\n 0 fail\n', 132)).toMatchObject({ passed: 3, failed: 1 })
})

test('the end of a run says why a test failed, whatever was thrown, and that its time was over', async () => {
  const text = `class McpError extends Error { name = 'McpError' }
test('typed', () => { throw new TypeError('of a type') })
test('own', () => { throw new McpError('of a class') })
test('expected', () => { expect(1).toBe(2) })
test('late', () => Bun.sleep(1000), 20)`
  const failures = failuresOf((await outputOf('why', text)).output)
  expect(failures.map(({ test: name, error }) => [name, error[0]])).toEqual([
    ['typed', 'TypeError: of a type'],
    ['own', 'McpError: of a class'],
    ['expected', 'error: expect(received).toBe(expected)'],
    ['late', 'this test timed out after 20ms.'],
  ])
})

test('failed tests that passed alone count as passed, and what else was wrong stays', () => {
  const [one, other] = ['one', 'other'].map(name => ({ file: 'test/a.test.ts', test: name, error: [] }))
  if (!one || !other) throw new Error('made above')
  const run = { count: { passed: 5, failed: 3, problem: '1 errors outside of any test' }, failures: [one, other] }
  expect(withoutUnsteady(run, [other])).toEqual({ count: { ...run.count, passed: 6, failed: 2 }, failures: [one] })
})

test('a program counts once, by its exit code', () => {
  expect(countWhole(0)).toEqual({ passed: 1, failed: 0 })
  expect(countWhole(2)).toMatchObject({ passed: 0, failed: 1 })
})

test('a change touches the tests that reach it, by import, by a program they start, and by way of others', () => {
  const touchedBy = (file: string): readonly string[] => testsTouchedBy([file], ROOT)
  const oneUnit = 'test/unit/domain/names.test.ts'
  const withHub = 'test/http/cors.test.ts'
  expect(touchedBy(withHub)).toContain(withHub)
  expect(touchedBy(withHub)).not.toContain(oneUnit)
  const ofPreload = touchedBy('test/failure/fixtures/fail-at.cjs')
  expect(ofPreload).toContain('test/failure/fail-at-each.test.ts')
  expect(ofPreload).not.toContain(withHub)
  const ofNames = touchedBy('core/domain/names.ts')
  expect(ofNames).toEqual(expect.arrayContaining([oneUnit, withHub]))
  expect(ofNames).not.toContain('test/runtime/processes.test.ts')
  expect(touchedBy('bun.lock').length).toBeGreaterThan(ofNames.length)
})
