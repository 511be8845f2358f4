#include "tests/support/zip_builder.h"

#include "tests/support/file_bytes.h"

namespace ghost {
namespace {

void AddLocal(FileBytes& out, const ZipItem& item) {
  const std::string name = item.local_name.value_or(item.name);
  out.U32(0x04034b50)
      .U16(0)
      .U16(item.local_flags.value_or(item.flags))
      .U16(item.local_method.value_or(item.method));
  out.U32(0).U32(0).U32(item.local_packed).U32(item.local_size);
  out.U16(static_cast<uint16_t>(name.size())).U16(static_cast<uint16_t>(item.local_extra.size()));
  out.Raw(name).Raw(item.local_extra).Raw(item.data);
  if ((item.flags & 8) != 0) {  // data descriptor
    const auto size = static_cast<uint32_t>(item.data.size());
    out.U32(0x08074b50).U32(0).U32(size).U32(size);
  }
}

void AddCentral(FileBytes& out, const ZipItem& item, size_t header_offset) {
  const auto size = static_cast<uint32_t>(item.data.size());
  out.U32(0x02014b50).U16(0).U16(0).U16(item.flags).U16(item.method).U32(0).U32(0);
  out.U32(item.central_packed.value_or(size)).U32(item.central_size.value_or(size));
  out.U16(static_cast<uint16_t>(item.name.size()))
      .U16(static_cast<uint16_t>(item.central_extra.size()))
      .U16(0);
  out.U16(item.disk).U16(0).U32(0).U32(item.header_offset.value_or(static_cast<uint32_t>(header_offset)));
  out.Raw(item.name).Raw(item.central_extra);
}

}  // namespace

std::string ZipBytes(const std::vector<ZipItem>& items, const ZipEnd& end) {
  FileBytes out;
  std::vector<size_t> offsets;
  for (const ZipItem& item : items) {
    offsets.push_back(out.size());
    AddLocal(out, item);
  }
  const size_t start = out.size();
  for (size_t i = 0; i < items.size(); ++i) AddCentral(out, items[i], offsets[i]);
  const uint64_t directory_bytes = end.directory_bytes.value_or(out.size() - start);
  const uint64_t directory_offset = end.directory_offset.value_or(start);
  const uint64_t entries = end.entries.value_or(items.size());
  out.Raw(end.padding);
  if (end.zip64) {
    const uint64_t at = out.size();
    out.U32(0x06064b50).U64(end.end64_bytes.value_or(44)).U16(0).U16(45).U32(end.disk).U32(0);
    out.U64(entries).U64(entries).U64(directory_bytes).U64(directory_offset);
    out.U32(0x07064b50).U32(0).U64(end.end64_offset.value_or(at)).U32(1);
  }
  const auto short_entries = static_cast<uint16_t>(end.saturate ? 0xffff : entries);
  out.U32(0x06054b50).U16(end.disk).U16(0).U16(short_entries).U16(short_entries);
  out.U32(static_cast<uint32_t>(end.saturate ? 0xffffffff : directory_bytes));
  out.U32(static_cast<uint32_t>(end.saturate ? 0xffffffff : directory_offset));
  out.U16(end.comment_bytes.value_or(static_cast<uint16_t>(end.comment.size()))).Raw(end.comment);
  return out.str();
}

}  // namespace ghost
