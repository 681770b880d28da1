import { expect, test } from 'bun:test'
import { Chain, type Chained } from '../../../core/mcp/chain.ts'

class Item implements Chained<Item> {
  chainBefore: Item | undefined
  chainAfter: Item | undefined
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

function names(chain: Chain<Item>): string {
  return [...chain].map(({ name }) => name).join('')
}

test('a chain keeps what is in it in the order in which it came, whoever leaves', () => {
  const items = [...'abcde'].map(name => new Item(name))
  for (let leaving = 0; leaving < 32; leaving += 1) {
    const chain = new Chain<Item>()
    for (const item of items) chain.add(item)
    const gone = items.filter((_, index) => leaving & (1 << index))
    for (const item of gone) chain.delete(item)
    for (const item of gone) chain.delete(item)
    const left = items.filter(item => !gone.includes(item))
    expect(names(chain)).toBe(left.map(({ name }) => name).join(''))
    for (const item of gone) chain.add(item)
    expect(names(chain)).toBe([...left, ...gone].map(({ name }) => name).join(''))
    for (const item of items) chain.delete(item)
    expect(names(chain)).toBe('')
    expect(items.every(item => item.chainBefore === undefined && item.chainAfter === undefined)).toBe(true)
  }
})

test('whoever has just come out of a chain may leave it', () => {
  const chain = new Chain<Item>()
  for (const name of 'abc') chain.add(new Item(name))
  let seen = ''
  for (const item of chain) {
    chain.delete(item)
    seen += item.name
  }
  expect(seen).toBe('abc')
  expect(names(chain)).toBe('')
})
