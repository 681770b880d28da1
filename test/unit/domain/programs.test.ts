import { expect, test } from 'bun:test'
import { OpenPrograms } from '../../../core/domain/server/programs.ts'
import type { ProgramSource } from '../../../core/features/programs.ts'

test('the folder of unpacked programs is looked at only while the plugin runs that stores them', () => {
  const programs = new OpenPrograms()
  programs.declare('parcels', { parcel: { schema: { type: 'string' }, folder: 'parcels' } })
  expect(programs.folders()).toEqual([])
  programs.add('parcels', 'parcel', {} as ProgramSource)
  expect(programs.folders()).toEqual(['parcels'])
  programs.remove('parcel')
  expect(programs.folders()).toEqual([])
})
