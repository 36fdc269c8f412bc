/**
 * Samples of what other products export, written by hand in the shapes that their programs write, and what becomes of
 * each.
 */

export const day = (number: number): string => `2026-03-${String(number).padStart(2, "0")}T10:00:00.000Z`

export interface Sample {
  readonly from: string
  readonly files: Readonly<Record<string, unknown>>
  /** `agent/subject kind who: text @ when` */
  readonly kept: ReadonlyArray<string>
  readonly leftOut?: Readonly<Record<string, number>>
  readonly unkept?: Readonly<Record<string, number>>
  /** Of those that have some. */
  readonly metadata?: ReadonlyArray<object>
}

export const node = (id: string, parent: string | null, role: string, text: string, at: number, more: object = {}) => [
  id,
  {
    id,
    parent,
    children: [],
    message: {
      id,
      author: { role },
      content: { content_type: "text", parts: [text] },
      create_time: Date.parse(day(at)) / 1_000,
      recipient: "all",
      ...more
    }
  }
]
const lines = (...values: ReadonlyArray<object>): string => values.map((value) => JSON.stringify(value)).join("\n")

export const foreignSamples: Readonly<Record<string, Sample>> = {
  "ChatGPT in several files, without the end of a conversation, with custom instructions": {
    from: "chatgpt",
    files: {
      "conversations-000.json": [
        {
          id: "c1",
          title: "Trip",
          mapping: Object.fromEntries([
            ["root", { id: "root", parent: null, children: ["ctx"], message: null }],
            [
              "ctx",
              {
                id: "ctx",
                parent: "root",
                message: {
                  id: "ctx",
                  author: { role: "user" },
                  content: {
                    content_type: "user_editable_context",
                    user_profile: "The user wrote:\n```I bake bread```",
                    user_instructions: ""
                  },
                  metadata: {
                    is_visually_hidden_from_conversation: true,
                    user_context_message_data: {
                      about_user_message: "I bake bread",
                      about_model_message: "Answer in metric units"
                    }
                  }
                }
              }
            ],
            node("a", "ctx", "user", "Plan a trip to Porto", 1),
            node("old", "a", "assistant", "Old plan", 1),
            node("new", "a", "assistant", "New plan", 2),
            node("code", "new", "assistant", "print(1)", 3, { recipient: "python" })
          ])
        }
      ],
      "conversations-001.json": [
        { id: "c2", current_node: "b", mapping: Object.fromEntries([node("b", null, "user", "Hello", 4)]) }
      ],
      "user.json": { id: "user-1", email: "kim@example.com" },
      "chat.html": "<html>"
    },
    kept: [
      "imported/ factual_memory user: I bake bread",
      "imported/ instruction_memory: Answer in metric units",
      `imported/ conversation_message user: Plan a trip to Porto @ ${day(1)}`,
      `imported/ conversation_message assistant: New plan @ ${day(2)}`,
      `imported/ conversation_message tool: print(1) @ ${day(3)}`,
      `imported/ conversation_message user: Hello @ ${day(4)}`
    ],
    leftOut: { "a message of an abandoned branch": 1 }
  },
  "Claude with memories, an attachment and an edited message": {
    from: "claude",
    files: {
      "conversations.json": [
        {
          uuid: "c",
          name: "Notes",
          chat_messages: [
            {
              uuid: "1",
              parent_message_uuid: "00000000-0000-4000-8000-000000000000",
              sender: "human",
              text: "Frist",
              content: [{ type: "text", text: "Frist" }],
              created_at: day(1)
            },
            {
              uuid: "2",
              parent_message_uuid: "00000000-0000-4000-8000-000000000000",
              sender: "human",
              text: "First",
              content: [{ type: "text", text: "First" }],
              created_at: day(2),
              attachments: [{ file_name: "a.txt", extracted_content: "Attached words" }]
            },
            { uuid: "3", parent_message_uuid: "2", sender: "assistant", text: "Seen", created_at: day(3) }
          ]
        }
      ],
      "memories.json": [
        { conversations_memory: "**Work**\n\nKim is a nurse.", project_memories: {}, account_uuid: "x" }
      ],
      "users.json": [{ uuid: "x", full_name: "Kim" }]
    },
    kept: [
      `imported/ conversation_message user: First @ ${day(2)}`,
      `imported/ conversation_message user: a.txt:\nAttached words @ ${day(2)}`,
      `imported/ conversation_message assistant: Seen @ ${day(3)}`,
      "imported/ factual_memory user: **Work**\n\nKim is a nurse."
    ],
    leftOut: { "a message of an abandoned branch": 1 }
  },
  "memories of Claude as one object": {
    from: "claude",
    files: {
      "memories/acct.json": {
        conversations_memory: "Kim lives in Oslo.",
        project_memories: { p: "Ships on Fridays." },
        memory_files: []
      }
    },
    kept: ["imported/ factual_memory user: Kim lives in Oslo.", "imported/ factual_memory project p: Ships on Fridays."]
  },
  "a session of Claude Code": {
    from: "claude-code",
    files: {
      "-home-kim-app/5f0c.jsonl": lines(
        { type: "summary", summary: "Fix the build", leafUuid: "u3" },
        {
          type: "user",
          uuid: "u1",
          parentUuid: null,
          sessionId: "5f0c",
          isSidechain: false,
          timestamp: day(1),
          message: { role: "user", content: "Always use pnpm here<system-reminder>be brief</system-reminder>" }
        },
        {
          type: "assistant",
          uuid: "u2",
          parentUuid: "u1",
          sessionId: "5f0c",
          timestamp: day(1),
          message: { id: "msg_1", role: "assistant", content: [{ type: "thinking", thinking: "hm" }] }
        },
        {
          type: "assistant",
          uuid: "u3",
          parentUuid: "u2",
          sessionId: "5f0c",
          timestamp: day(2),
          message: {
            id: "msg_1",
            role: "assistant",
            content: [
              { type: "text", text: "I will use pnpm." },
              { type: "tool_use", id: "t", name: "Bash", input: {} }
            ]
          }
        },
        {
          type: "user",
          uuid: "u4",
          parentUuid: "u3",
          sessionId: "5f0c",
          timestamp: day(2),
          message: { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "ok" }] }
        },
        {
          type: "user",
          uuid: "u5",
          parentUuid: "u4",
          sessionId: "5f0c",
          isMeta: true,
          timestamp: day(2),
          message: { role: "user", content: "Caveat" }
        },
        {
          type: "assistant",
          uuid: "u6",
          sessionId: "5f0c",
          isSidechain: true,
          timestamp: day(2),
          message: { role: "assistant", content: [{ type: "text", text: "sub" }] }
        }
      )
    },
    kept: [
      `imported/ conversation_message user: Always use pnpm here @ ${day(1)}`,
      `imported/ conversation_message assistant: I will use pnpm. @ ${day(2)}`
    ],
    leftOut: {
      "an event that is no message": 1,
      "a thought of the model": 1,
      "a call or a result of a tool": 1,
      "a message of the program": 1,
      "a message of an agent that the session started": 1
    }
  },
  "drawers of MemPalace as JSON": {
    from: "mempalace",
    files: {
      "export-manifest.json": { format_version: 1, wings: 1, rooms: 1, drawers: 1 },
      "kim/kitchen.jsonl": lines({
        id: "drawer_1",
        document: "Kim likes rye",
        metadata: {
          wing: "kim",
          room: "kitchen",
          filed_at: "2026-03-01T10:00:00",
          source_file: "chat.md",
          added_by: "mine",
          importance: 3
        }
      })
    },
    kept: [`imported/ factual_memory kim: Kim likes rye @ ${day(1)}`],
    metadata: [{ source_file: "chat.md", importance: 3 }]
  },
  "drawers of MemPalace as pages": {
    from: "mempalace",
    files: {
      "index.md": "# Palace Export — 2026-03-02\n\n| Wing | Rooms | Drawers |\n|---|---|---|\n",
      "kim/kitchen.md":
        "# kim / kitchen\n\n## drawer_1\n\n> Kim likes rye\n> and oats\n\n| Field | Value |\n|-------|-------|\n| Source | chat.md |\n| Filed | 2026-03-01T10:00:00 |\n| Added by | mine |\n\n---\n\n"
    },
    kept: [`imported/ factual_memory kim: Kim likes rye\nand oats @ ${day(1)}`],
    metadata: [{ source_file: "chat.md" }]
  },
  "an agent file of Letta": {
    from: "letta",
    files: {
      "kim.af": {
        agents: [
          {
            id: "agent-0",
            name: "helper",
            agent_type: "letta_v1_agent",
            block_ids: ["block-0"],
            in_context_message_ids: ["message-1"],
            messages: [
              { id: "message-0", role: "system", content: [{ type: "text", text: "You are" }], created_at: day(1) },
              {
                id: "message-1",
                role: "user",
                content: [{ type: "text", text: '{"type":"user_message","message":"I am Kim","time":"now"}' }],
                created_at: day(1)
              },
              {
                id: "message-2",
                role: "assistant",
                content: [{ type: "text", text: "thinking" }],
                tool_calls: [
                  { id: "x", type: "function", function: { name: "send_message", arguments: '{"message":"Hi Kim"}' } }
                ],
                created_at: day(2)
              },
              {
                id: "message-3",
                role: "tool",
                tool_call_id: "x",
                content: [{ type: "text", text: '{"status":"OK","message":null,"time":"now"}' }],
                created_at: day(2)
              },
              {
                id: "message-4",
                role: "assistant",
                content: [{ type: "text", text: "Anything else?" }],
                created_at: day(3)
              }
            ]
          }
        ],
        groups: [],
        blocks: [{ id: "block-0", label: "human", value: "Name: Kim\n\nLikes rye", limit: 5_000 }],
        tools: [{ id: "tool-0", name: "send_message" }]
      }
    },
    kept: [
      `imported/ conversation_message user: I am Kim @ ${day(1)}`,
      `imported/ conversation_message assistant: Hi Kim @ ${day(2)}`,
      `imported/ conversation_message assistant: Anything else? @ ${day(3)}`,
      "imported/ factual_memory human: Name: Kim\n\nLikes rye"
    ],
    leftOut: { "a system message of the agent": 1, "a tool's result without text": 1, "a tool": 1 }
  },
  "an agent file of Letta's first version": {
    from: "letta",
    files: {
      "old.af": {
        agent_type: "memgpt_agent",
        name: "old",
        core_memory: [{ label: "persona", value: "I am Sam", limit: 5_000, created_at: day(1) }],
        messages: [{ role: "user", content: [{ type: "text", text: "hello" }], created_at: day(2) }],
        tools: [{ name: "x" }]
      }
    },
    kept: [
      `imported/ factual_memory persona: I am Sam @ ${day(1)}`,
      `imported/ conversation_message user: hello @ ${day(2)}`
    ],
    leftOut: { "a tool": 1 }
  },
  "items of LangGraph's store": {
    from: "langgraph",
    files: {
      "items.json": {
        items: [
          {
            namespace: ["kim", "memories"],
            key: "1",
            value: { kind: "Memory", content: { content: "Likes rye" } },
            created_at: day(1),
            updated_at: day(2)
          },
          {
            namespace: ["kim", "profile"],
            key: "2",
            value: { name: "Kim", age: 30 },
            createdAt: day(1),
            updatedAt: day(1)
          }
        ]
      }
    },
    kept: [
      `imported/kim.memories factual_memory kim.memories: Likes rye @ ${day(2)}`,
      `imported/kim.profile factual_memory kim.profile: name: Kim\nage: 30 @ ${day(1)}`
    ]
  },
  "rows of the table of LangGraph's store": {
    from: "langgraph",
    files: {
      "store.jsonl": lines({
        prefix: "kim.memories",
        key: "1",
        value: '{"text":"Likes rye"}',
        created_at: "2026-03-01 10:00:00+00",
        updated_at: null
      })
    },
    kept: [`imported/kim.memories factual_memory kim.memories: Likes rye @ ${day(1)}`]
  },
  "a graph of Graphiti, in snake case": {
    from: "zep",
    files: {
      "graph.json": {
        edges: [
          {
            uuid: "e1",
            group_id: "kim",
            name: "WORKS_AT",
            source_node_uuid: "n1",
            target_node_uuid: "n2",
            fact: "Kim works at Acme",
            valid_at: day(3),
            created_at: day(4)
          },
          {
            uuid: "e2",
            group_id: "kim",
            name: "WORKS_AT",
            source_node_uuid: "n1",
            fact: "Kim works at Beta",
            valid_at: day(1),
            invalid_at: day(3),
            expired_at: day(4)
          }
        ],
        nodes: [
          {
            uuid: "n1",
            group_id: "kim",
            name: "Kim",
            labels: ["Entity"],
            summary: "Kim is a nurse",
            created_at: day(1)
          },
          { uuid: "n2", group_id: "kim", name: "Acme", labels: ["Entity"], summary: "" }
        ]
      }
    },
    kept: [
      `imported/kim factual_memory Kim: Kim works at Acme @ ${day(3)}`,
      `imported/kim factual_memory Kim: Kim works at Beta @ ${day(1)}`,
      `imported/kim factual_memory Kim: Until 2026-03-03: Kim works at Beta @ ${day(3)}`,
      `imported/kim factual_memory Kim: Kim is a nurse @ ${day(1)}`
    ],
    leftOut: { "a node without a summary": 1 }
  },
  "a graph of Zep, in camel case, with messages of a thread": {
    from: "zep",
    files: {
      "graph.json": {
        edges: [
          {
            uuid: "e1",
            userId: "kim",
            sourceNodeName: "Kim",
            fact: "Kim works at Beta",
            validAt: day(1),
            expiredAt: day(3),
            attributes: { since: 2020 }
          }
        ],
        episodes: [
          { uuid_: "p1", threadId: "t", role: "user", name: "Kim", content: "I moved", createdAt: day(2) },
          { uuid_: "p2", session_id: "t", role_type: "assistant", role: "Helper", content: "Noted", created_at: day(3) }
        ]
      }
    },
    kept: [
      `imported/kim factual_memory Kim: Kim works at Beta @ ${day(1)}`,
      `imported/kim factual_memory Kim: Until 2026-03-03: Kim works at Beta @ ${day(3)}`,
      `imported/ conversation_message user (Kim): I moved @ ${day(2)}`,
      `imported/ conversation_message assistant (Helper): Noted @ ${day(3)}`
    ],
    metadata: [{ attributes: { since: 2020 } }, { attributes: { since: 2020 } }]
  },
  "memories of mem0 in both spellings, and rows of its vector store": {
    from: "mem0",
    files: {
      "memories.json": {
        results: [
          {
            id: "a",
            memory: "Likes tea",
            user_id: "kim",
            agent_id: "nurse",
            created_at: day(1),
            categories: ["food", "a category that is longer than a tag can be"],
            metadata: { type: "taste" }
          },
          {
            id: "b",
            memory: "Leaves soon",
            userId: "kim",
            runId: "r",
            createdAt: day(2),
            expirationDate: "2999-12-31"
          },
          { id: "c", memory: "Was away", user_id: "kim", expiration_date: "2020-01-01" },
          {
            id: "d",
            payload: { data: "Runs", user_id: "kim", hash: "x", created_at: day(3), mood: "good" },
            vector: [0.1]
          }
        ]
      }
    },
    kept: [
      `nurse/kim factual_memory kim: Likes tea @ ${day(1)}`,
      `imported/kim factual_memory kim: Leaves soon @ ${day(2)}`,
      `imported/kim factual_memory kim: Runs @ ${day(3)}`
    ],
    leftOut: { "a memory that has expired": 1 },
    metadata: [{ type: "taste" }, { mood: "good" }],
    unkept: { "a tag of more than 32 characters": 1 }
  },
  "the export of mem0's plugin": {
    from: "mem0",
    files: {
      "mem0-export-app-2026-03-01.md": `---\nid: m1\ncreated_at: ${day(1)}\ntype: decision\nconfidence: 0.9\nbranch: \nfiles: \ncategories: style, tests\n---\nTests are written first.\n\n`
    },
    kept: [`imported/ factual_memory user: Tests are written first. @ ${day(1)}`],
    metadata: [{ memory_type: "decision", confidence: "0.9" }]
  },
  "messages of model APIs": {
    from: "messages",
    files: {
      "chat.jsonl": lines(
        { role: "developer", content: "Be kind", timestamp: "1772359200" },
        {
          role: "user",
          content: [
            { type: "text", text: "Weather?" },
            { type: "image_url", image_url: { url: "x" } }
          ],
          createdAt: day(1)
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "x", type: "function", function: { name: "weather", arguments: "{}" } }]
        },
        { role: "tool", tool_call_id: "x", content: "sunny" },
        { role: "narrator", content: "meanwhile" }
      )
    },
    kept: [
      `imported/ conversation_message system: Be kind @ ${day(1)}`,
      `imported/ conversation_message user: Weather?\n[image] @ ${day(1)}`,
      "imported/ conversation_message tool: weather({})",
      "imported/ conversation_message tool: sunny"
    ],
    leftOut: { "the role narrator": 1 }
  },
  "files of coding agents": {
    from: "agent-files",
    files: {
      "app/CLAUDE.md": "# Rules\n\n- Use pnpm\n- Run the tests\n  before a push\n",
      "app/memory/MEMORY.md": "Kim prefers short answers.\n",
      "app/memory/feedback.md": "---\nname: feedback\nmetadata:\n  type: feedback\n---\nNo emoji.\n",
      "app/README.md": "# App\n"
    },
    kept: [
      "imported/ instruction_memory: Rules: Use pnpm",
      "imported/ instruction_memory: Rules: Run the tests\n  before a push",
      "imported/ factual_memory MEMORY: Kim prefers short answers.",
      "imported/ instruction_memory: No emoji."
    ]
  }
}
