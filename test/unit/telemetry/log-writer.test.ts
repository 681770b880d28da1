import { afterEach, beforeEach, expect, test } from 'bun:test'
import { constants, mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LogWriter } from '../../../core/telemetry/log-writer.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'patchbay-log-writer-'))
})
afterEach(() => rm(folder, { recursive: true }))

const lost = (count: number) => `lost ${count}\n`

test('lines come in order and whole, whatever their number and length', async () => {
  const file = join(folder, 'deep', 'hub.log')
  const writer = await LogWriter.open({ file, lost })
  const lines = Array.from({ length: 3_000 }, (_, n) => `${n} ${'é'.repeat(n % 97)}\n`)
  for (const line of lines) writer.write(line)
  await writer.end()
  expect(await readFile(file, 'utf8')).toBe(lines.join(''))
})

test('lines that a reader does not take are kept up to a limit, and lost ones are counted exactly', async () => {
  const pipe = join(folder, 'pipe')
  Bun.spawnSync(['mkfifo', pipe])
  const reader = await open(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = await LogWriter.open({ file: pipe, lost })
  const total = 25_000
  for (let n = 0; n < total; n += 1) {
    writer.write(`${n} ${'x'.repeat(100)}\n`)
    if (n % 1_000 === 0) await new Promise(resolve => setImmediate(resolve))
  }
  let text = ''
  const reading = (async () => {
    const buffer = Buffer.alloc(1 << 20)
    while (!text.includes(`\n${total - 1} `)) {
      const { bytesRead } = await reader.read(buffer, 0, buffer.length).catch(() => ({ bytesRead: 0 }))
      if (bytesRead > 0) text += buffer.toString('latin1', 0, bytesRead)
      else await new Promise(resolve => setTimeout(resolve, 1))
    }
  })()
  await writer.flush()
  await reading
  await writer.end()
  const counts = [...text.matchAll(/^lost (\d+)$/gm)].map(match => Number(match[1]))
  const came = [...text.matchAll(/^\d+ x{100}$/gm)].length
  expect(counts.length).toBeGreaterThan(0)
  expect(came + counts.reduce((sum, count) => sum + count, 0)).toBe(total)
  await reader.close()
}, 120_000)
