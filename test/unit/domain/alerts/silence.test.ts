import { expect, test } from 'bun:test'
import { isSilenced } from '../../../../core/domain/alerts/silence.ts'

const times = { startsAt: '2026-11-22T09:00:00.000Z', endsAt: '2026-11-22T10:00:00.000Z' }
const at = '2026-11-22T09:30:00.000Z'
const alert = { rule: 'Down', severity: 'critical', server: 'ann~Time' }

test('names of a silence are compared as names are everywhere', () => {
  for (const about of [{ rule: 'down' }, { rule: 'ＤＯＷＮ' }, { server: 'time' }, { server: 'ANN~time' }]) {
    expect([about, isSilenced({ ...times, ...about }, alert, at)]).toEqual([about, true])
  }
  for (const about of [{ rule: 'dow' }, { server: 'bob~time' }, { server: 'ann' }, { severity: 'warning' } as const]) {
    expect([about, isSilenced({ ...times, ...about }, alert, at)]).toEqual([about, false])
  }
})
