import { expect, test } from 'bun:test'
import { LinkedList, type LinkedNode } from '../../../core/mcp/rpc/linked-list.ts'

class Item implements LinkedNode<Item> {
  chainBefore: Item | undefined
  chainAfter: Item | undefined
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

function names(chain: LinkedList<Item>): string {
  return [...chain].map(({ name }) => name).join('')
}

test('a list keeps its items in the order in which they came, whichever are removed', () => {
  const items = [...'abcde'].map(name => new Item(name))
  for (let leaving = 0; leaving < 32; leaving += 1) {
    const chain = new LinkedList<Item>()
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

test('iteration skips items removed before their turn, and items added meanwhile', () => {
  const chain = new LinkedList<Item>()
  const items = [...'abcdef'].map(name => new Item(name))
  for (const item of items) chain.add(item)
  let seen = ''
  for (const item of chain) {
    seen += item.name
    chain.delete(item)
    for (const other of items) if ('bce'.includes(other.name)) chain.delete(other)
    chain.add(new Item('x'))
  }
  expect(seen).toBe('adf')
  expect(names(chain)).toBe('xxx')
})
