import {
  type AggregateFunctionNode,
  type AliasNode,
  type CreateIndexNode,
  type DataTypeNode,
  type FunctionNode,
  IdentifierNode,
  type OperationNode,
  OperationNodeTransformer,
  type OperatorNode,
  type QueryId,
  type RawNode,
  type ReferenceNode,
  type ReferencesNode,
  type RootOperationNode,
  SchemableIdentifierNode,
  TableNode,
} from 'kysely'
import { tablePrefix } from '../../store/plugin-tables.ts'

/** Tables of the hub to which rows of a plugin may refer. */
const REFERRED: ReadonlySet<string> = new Set(['user', 'server', 'server_group'])
/** Permitted actions of a reference to them when the row is removed: no row of a plugin may keep a user or a server. */
const ON_DELETE: ReadonlySet<string | undefined> = new Set(['cascade', 'set null'])
/** Functions that read nothing but their arguments. */
const FUNCTIONS: ReadonlySet<string> = new Set(
  'count sum min max avg coalesce lower upper length octet_length abs round nullif substr trim replace'.split(' '),
)
const TABLE_NAME = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/
const DATA_TYPE = /^[a-z]+(?: [a-z]+)*(?: ?\(\d+(?:, ?\d+)?\))?$/
const OPERATOR = /^[a-z !<>=|&#~*@?+\-/%^]+$/i
/** Longest name in PostgreSQL, in bytes. */
const MOST_NAME = 63
/** Statements and their parts that a plugin may not use, whatever they name. */
const CLOSED =
  /^(?:Create|Drop|Alter|Refresh)(?:Schema|View|Type|MaterializedView)Node$|^(?:Explain|JSON\w*|Output)Node$/

/**
 * The statement with each table by its full name. Throws Error for one that could reach what is not the plugin's: SQL as text,
 * functions that read by themselves, schemas, references to other tables.
 */
export function ownStatement(plugin: string, node: RootOperationNode, queryId: QueryId): RootOperationNode {
  return new OwnTables(plugin).transformNode(node, queryId)
}

class OwnTables extends OperationNodeTransformer {
  readonly #plugin: string
  readonly #aliases = new Set<string>()

  constructor(plugin: string) {
    super()
    this.#plugin = plugin
  }

  override transformNode<T extends OperationNode | undefined>(node: T, queryId?: QueryId): T {
    if (this.nodeStack.length === 0) this.#findAliases(node)
    if (node && CLOSED.test(node.kind)) throw this.#refusal(node.kind.replace(/Node$/, ''))
    return super.transformNode(node, queryId)
  }

  protected override transformTable(node: TableNode): TableNode {
    const { schema, identifier } = node.table
    if (schema) throw this.#refusal(`the schema "${schema.name}"`)
    return TableNode.create(this.#fullName(identifier.name))
  }

  protected override transformSchemableIdentifier(node: SchemableIdentifierNode): SchemableIdentifierNode {
    if (node.schema) throw this.#refusal(`the schema "${node.schema.name}"`)
    return SchemableIdentifierNode.create(this.#fullName(node.identifier.name))
  }

  /** The table of a column may be an alias, which stays unchanged: it reads only tables that some `from` names. */
  protected override transformReference(node: ReferenceNode, queryId?: QueryId): ReferenceNode {
    const alias = node.table?.table.schema ? undefined : node.table?.table.identifier.name
    if (alias === undefined || !this.#aliases.has(alias)) return super.transformReference(node, queryId)
    return { ...node, column: this.transformNode(node.column, queryId) }
  }

  protected override transformReferences(node: ReferencesNode, queryId?: QueryId): ReferencesNode {
    const { identifier, schema } = node.table.table
    const parent = this.nodeStack.at(-2) as { readonly onDelete?: string } | undefined
    if (schema || !REFERRED.has(identifier.name)) return super.transformReferences(node, queryId)
    if (!ON_DELETE.has(node.onDelete ?? parent?.onDelete))
      throw new Error(`A reference to "${identifier.name}" needs onDelete('cascade') or onDelete('set null')`)
    return { ...node, columns: this.transformNodeList(node.columns, queryId) }
  }

  protected override transformCreateIndex(node: CreateIndexNode, queryId?: QueryId): CreateIndexNode {
    return { ...super.transformCreateIndex(node, queryId), name: IdentifierNode.create(this.#fullName(node.name.name)) }
  }

  protected override transformRaw(node: RawNode): RawNode {
    const text = node.sqlFragments.join('?')
    if (node.parameters.length === 0 && /^(?:asc|desc)$/.test(text)) return node
    throw this.#refusal(`SQL as text (${text.slice(0, 40)})`)
  }

  protected override transformFunction(node: FunctionNode, queryId?: QueryId): FunctionNode {
    this.#checkFunction(node.func)
    return super.transformFunction(node, queryId)
  }

  protected override transformAggregateFunction(node: AggregateFunctionNode, queryId?: QueryId): AggregateFunctionNode {
    this.#checkFunction(node.func)
    return super.transformAggregateFunction(node, queryId)
  }

  protected override transformDataType(node: DataTypeNode): DataTypeNode {
    if (!DATA_TYPE.test(node.dataType)) throw this.#refusal(`the type "${node.dataType}"`)
    return node
  }

  protected override transformOperator(node: OperatorNode): OperatorNode {
    if (!OPERATOR.test(node.operator)) throw this.#refusal(`the operator "${node.operator}"`)
    return node
  }

  #checkFunction(name: string): void {
    if (!FUNCTIONS.has(name)) throw this.#refusal(`the function "${name}"`)
  }

  #fullName(name: string): string {
    const full = `${tablePrefix(this.#plugin)}${name}`
    if (TABLE_NAME.test(name) && full.length <= MOST_NAME) return full
    const most = MOST_NAME - tablePrefix(this.#plugin).length
    throw new Error(
      `"${name.slice(0, 80)}" is no name for a table or index of plugin "${this.#plugin}": lower-case letters, digits and single "_" are wanted, at most ${most}`,
    )
  }

  #findAliases(node: unknown): void {
    if (typeof node !== 'object' || node === null) return
    const { kind, alias } = node as { readonly kind?: string; readonly alias?: AliasNode['alias'] }
    if (kind === 'AliasNode' && alias && IdentifierNode.is(alias)) this.#aliases.add(alias.name)
    if (kind === 'ValueNode' || kind === 'PrimitiveValueListNode') return
    for (const part of Object.values(node)) this.#findAliases(part)
  }

  #refusal(what: string): Error {
    return new Error(`A statement of plugin "${this.#plugin}" uses ${what}, which is not open to plugins`)
  }
}
