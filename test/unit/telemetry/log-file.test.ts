import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LogWriter } from '../../../core/telemetry/log-writer.ts'

const lost = (count: number) => `lost ${count}\n`
const limits = { maxBytes: 10_000, maxFiles: 3 }

let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-log-file-'))
  file = join(folder, 'hub.log')
})
afterEach(() => rm(folder, { recursive: true }))

async function writeLines(count: number): Promise<void> {
  const writer = await LogWriter.open({ file, limits, lost })
  for (let n = 0; n < count; n += 1) {
    writer.write(`${String(n).padStart(6, '0')} ${'x'.repeat(92)}\n`)
    if (n % 10 === 9) await writer.flush()
  }
  await writer.end()
}

test('a full log file is put aside, and the newest files are kept, each no larger than allowed', async () => {
  await writeLines(1_000)
  const names = (await readdir(folder)).sort()
  expect(names).toEqual(['hub.log', 'hub.log.1', 'hub.log.2', 'hub.log.3'])
  for (const name of names) {
    const { size, mode } = await stat(join(folder, name))
    expect(size).toBeLessThanOrEqual(limits.maxBytes)
    expect(mode & 0o777).toBe(0o600)
  }
  const text = (await Promise.all([...names].reverse().map(name => readFile(join(folder, name), 'utf8')))).join('')
  const numbers = [...text.matchAll(/^(\d{6}) x{92}$/gm)].map(match => Number(match[1]))
  // No line is missing, doubled or out of order between the oldest that is kept and the last.
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, at) => 1_000 - numbers.length + at))
  expect(numbers.length).toBeGreaterThan(300)
})

test('what an earlier hub wrote counts', async () => {
  await writeFile(file, 'y'.repeat(limits.maxBytes))
  await writeLines(1)
  expect((await readdir(folder)).sort()).toEqual(['hub.log', 'hub.log.1'])
  expect((await stat(`${file}.1`)).size).toBe(limits.maxBytes)
})

test('a file that cannot be put aside is written on, without losing a line', async () => {
  // A folder stands where the oldest file would be removed.
  await mkdir(join(`${file}.3`, 'kept'), { recursive: true })
  await writeLines(300)
  const text = await readFile(file, 'utf8')
  expect(text.match(/\n/g)).toHaveLength(300)
})
