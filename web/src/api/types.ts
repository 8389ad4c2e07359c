import type { components } from "./schema";

type Schemas = components["schemas"];

export type Conversation = Schemas["ConversationOut"];
export type ListedConversation = Schemas["ListedConversation"];
export type ConversationPage = Schemas["ConversationPageOut"];
export type OpenedConversation = Schemas["OpenedConversation"];
export type Message = Schemas["MessageOut"];
export type Context = Schemas["ContextOut"];
export type MessagePage = Schemas["Messages"];
export type ToolCall = Schemas["ToolCallOut"];
export type MemoryUsed = Schemas["MemoryUsed"];
export type Memory = Schemas["MemoryOut"];
export type MemoryPage = Schemas["MemoryPageOut"];
export type MemoryHistory = Schemas["MemoryHistoryOut"];
export type MemoryVersion = Schemas["MemoryVersionOut"];
export type MemoryHit = Schemas["MemoryHit"];
export type MessageHit = Schemas["MessageHit"];
export type Usage = Schemas["UsageOut"];
export type UsageTotals = Schemas["UsageTotalsOut"];
export type ServerSettings = Schemas["SettingsOut"];
export type Note = Schemas["NoteOut"];
export type NoteVersion = Schemas["NoteVersionOut"];
export type NoteHistory = Schemas["NoteHistoryOut"];
export type Overview = Schemas["OverviewOut"];
export type MemoryDay = Schemas["MemoryDayOut"];
export type Job = Schemas["JobOut"];
export type JobPage = Schemas["JobPageOut"];
export type Caller = Schemas["SessionOut"];
export type Imported = Schemas["ImportedOut"];
export type Receipt = Schemas["ReceiptOut"];
export type Durability = "durable" | "client" | "volatile";

/** The events of a chat turn, as the server names them. */
export type ChatEvent =
  | { event: "start"; conversation_id: string; session_id: string; message_id: string; memories_used: MemoryUsed[] }
  | { event: "delta"; text: string }
  | { event: "tool_call"; id: string; tool_name: string; input: unknown }
  | { event: "tool_result"; id: string; output: string }
  | { event: "saved"; durability: Durability; messages: { id: string; seq: number }[] }
  | { event: "error"; code: string; detail: string }
  | { event: "done"; status: "complete" | "interrupted" | "failed"; usage: Usage };
